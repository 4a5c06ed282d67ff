"""What the two protocols share: how a request becomes bytes, converting only what is new.

A request is mostly what was sent before. The SDK would walk every tool and message of it on each step; here
tools are spelled once per epoch, messages once per conversation, and the body is put together from bytes.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import ClassVar

from attrs import define, field, frozen

from wakeful.types import Emit, Item, Json, Reply, Request, Tool, Usage, clean
from wakeful_openai.errors import Faults
from wakeful_openai.facts import Facts

#: Bytes of spelled messages that are kept for all conversations of a model together.
KEPT_BYTES = 64 * 2**20
#: Tool lists that are kept; an agent has one per epoch.
KEPT_TOOLS = 32
#: How OpenAI wants a cached prefix marked, from gpt-5.6 on.
MARK = {"mode": "explicit"}


@frozen
class Target:
    """A bound model: what every request says of it.

    Args:
        model: its name.
        facts: what is known of it.
        official: whether it is served by OpenAI.
        max_tokens: most tokens of one reply, 0 = the model's own limit.
        effort: reasoning effort, or empty.
        store: whether replies are stored (Responses).
        parallel: whether a reply may hold several calls.
        extra: more fields of the body.
    """

    model: str
    facts: Facts
    official: bool
    max_tokens: int = 0
    effort: str = ""
    store: bool = False
    parallel: bool = True
    extra: Mapping[str, Json] = field(factory=dict)

    @property
    def marks(self) -> bool:
        """Whether messages are written as parts that can be marked."""
        return self.facts.family == "breakpoint"

    @property
    def cache_key(self) -> bool:
        """Whether ``prompt_cache_key`` is sent; strict servers refuse fields they do not know."""
        own = self.facts.cache_key
        return self.official if own is None else own


class Reader(ABC):
    """Takes in one streamed reply, piece by piece."""

    @property
    @abstractmethod
    def usage(self) -> Usage | None:
        """What the server said so far was used."""

    @abstractmethod
    async def feed(self, event: bytes, data: bytes) -> bool:
        """Take one event; True when it was the last.

        Raises:
            ModelError: the event is broken, or says that the reply failed.
        """

    @abstractmethod
    def finish(self, *, done: bool) -> Reply:
        """Return the reply, after everything that came.

        Args:
            done: whether the server said that this was all.

        Raises:
            ModelError: the reply broke off, or cannot be one.
        """


class Form(ABC):
    """One protocol, for one bound model.

    Args:
        target: the model.
        faults: makes its errors.
    """

    path: ClassVar[str]
    field: ClassVar[str]
    """The field of the body that holds the messages."""
    own_fields: ClassVar[frozenset[str]]

    def __init__(self, target: Target, faults: Faults) -> None:
        self.target, self.faults = target, faults
        self._heads: dict[bool, bytes] = {}
        self._tools: OrderedDict[tuple[str, ...], bytes] = OrderedDict()
        self._threads = _Threads()

    def body(self, request: Request, conversation: str, *, stream: bool) -> bytes:
        """Return the body of a request as JSON in UTF-8."""
        head = self._heads.get(stream)
        if head is None:
            head = self._heads[stream] = spell({**self.fixed(stream=stream), **self.target.extra})[:-1]
        pieces = [head, b',"', self.field.encode(), b'":[']
        messages = self._messages(request, conversation)
        pieces += [b",".join(messages), b"]"]
        if request.tools:
            pieces += [b',"tools":', self._spelled(request.tools)]
            if not self.target.parallel:
                pieces.append(b',"parallel_tool_calls":false')
        if request.cache_key and self.target.cache_key:
            pieces += [b',"prompt_cache_key":', spell(request.cache_key)]
        if self.target.marks and (request.marks.tools or request.marks.system or request.marks.items):
            pieces += [b',"prompt_cache_options":', spell(MARK)]
        pieces.append(b"}")
        return b"".join(pieces)

    def _messages(self, request: Request, conversation: str) -> list[bytes]:
        marked = request.marks.items if self.target.marks else frozenset()
        thread = self._threads.of(conversation)
        messages = thread.advance(request.items, marked, self)
        self._threads.trim()
        if not request.system:
            return messages
        on_system = self.target.marks and (request.marks.system or request.marks.tools)
        return [spell(self.system(request.system, marked=on_system)), *messages]

    def _spelled(self, tools: tuple[Tool, ...]) -> bytes:
        key = tuple(tool.spelling for tool in tools)
        known = self._tools.get(key)
        if known is None:
            known = self._tools[key] = spell([self.tool(tool) for tool in tools])
            while len(self._tools) > KEPT_TOOLS:
                self._tools.popitem(last=False)
        return known

    @abstractmethod
    def fixed(self, *, stream: bool) -> dict[str, Json]:
        """Return the fields that are the same in every request."""

    @abstractmethod
    def tool(self, tool: Tool) -> Json:
        """Return one tool's declaration."""

    @abstractmethod
    def system(self, texts: tuple[str, ...], *, marked: bool) -> Json:
        """Return the message with the static sections."""

    @abstractmethod
    def messages(
        self, items: tuple[Item, ...], start: int, marked: frozenset[int]
    ) -> Iterator[tuple[int, Json]]:
        """Yield (index after its last item, message) from the item ``start`` on; None makes no message."""

    @abstractmethod
    def reader(self, request: Request, emit: Emit | None) -> Reader:
        """Return what takes in a streamed reply."""

    @abstractmethod
    def reply(self, body: Json, request: Request) -> Reply:
        """Return the reply that arrived as a whole.

        Raises:
            ModelError: the body is none, or says that the reply failed.
        """

    @abstractmethod
    def usage(self, body: Json) -> Usage | None:
        """Return what a body says was used; None if it says nothing."""


@define
class _Thread:
    """The messages of one conversation as they were last spelled."""

    items: tuple[Item, ...] = ()
    marked: frozenset[int] = frozenset()
    ends: list[int] = field(factory=list)
    spelled: list[bytes] = field(factory=list)
    size: int = 0

    def advance(self, items: tuple[Item, ...], marked: frozenset[int], form: Form) -> list[bytes]:
        """Return all messages; only those from the first change on are made anew."""
        same = self._same(items, marked)
        while self.ends and self.ends[-1] > same:
            self._drop()
        if self.ends:
            self._drop()  # what follows may belong to the last message
        start = self.ends[-1] if self.ends else 0
        for end, message in form.messages(items, start, marked):
            text = b"" if message is None else spell(message)
            self.ends.append(end)
            self.spelled.append(text)
            self.size += len(text)
        self.items, self.marked = items, marked
        return [text for text in self.spelled if text]

    def _drop(self) -> None:
        self.ends.pop()
        self.size -= len(self.spelled.pop())

    def _same(self, items: tuple[Item, ...], marked: frozenset[int]) -> int:
        """Return how many items from the beginning are as they were, marks included."""
        old, length = self.items, min(len(self.items), len(items))
        same = length
        if old[:length] != items[:length]:
            same = next(n for n in range(length) if old[n] is not items[n] and old[n] != items[n])
        return min(same, min(self.marked ^ marked, default=same))


@define
class _Threads:
    """The conversations of a model, the least recently used ones given up first."""

    _known: OrderedDict[str, _Thread] = field(factory=OrderedDict)

    def of(self, conversation: str) -> _Thread:
        thread = self._known.setdefault(conversation, _Thread())
        self._known.move_to_end(conversation)
        return thread

    def trim(self) -> None:
        total = sum(thread.size for thread in self._known.values())
        while total > KEPT_BYTES and len(self._known) > 1:
            total -= self._known.popitem(last=False)[1].size


def spell(value: Json) -> bytes:
    """Return ``value`` as JSON in UTF-8; what UTF-8 cannot hold is replaced."""
    try:
        return _dumps(value).encode()
    except UnicodeEncodeError:
        return _dumps(clean(value)).encode()


def _dumps(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
