"""What the two protocols share: how a request becomes bytes, converting only what is new.

A request is mostly what was sent before. The SDK would walk every tool and message of it on each step; here
tools are spelled once per epoch, messages once per conversation, and the body is put together from bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import ClassVar

from attrs import field, frozen

from wakeful.prompt import ends_in_state
from wakeful.types import Emit, Item, Json, Reply, Request, Tool, Usage
from wakeful_openai.errors import ApiFaults
from wakeful_openai.facts import Facts
from wakeful_openai.threads import Threads, spell

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
        summary: how reasoning is summed up, or empty (Responses).
        store: whether replies are stored (Responses).
        parallel: whether a reply may hold several calls.
        extra: more fields of the body.
    """

    model: str
    facts: Facts
    official: bool
    max_tokens: int = 0
    effort: str = ""
    summary: str = ""
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

    def __init__(self, target: Target, faults: ApiFaults) -> None:
        self.target, self.faults = target, faults
        self._heads: dict[bool, bytes] = {}
        self._tools: OrderedDict[tuple[str, ...], bytes] = OrderedDict()
        self._threads = Threads()

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
        marked = request.marks.tools or request.marks.system or request.marks.items
        # Unasked, OpenAI marks the end: where that is state, it would write everything and never read it.
        if self.target.marks and (marked or ends_in_state(request)):
            pieces += [b',"prompt_cache_options":', spell(MARK)]
        pieces.append(b"}")
        return b"".join(pieces)

    def _messages(self, request: Request, conversation: str) -> list[bytes]:
        marked = request.marks.items if self.target.marks else frozenset()
        items, places = request.items, self.sendable(request)
        if places is not None:
            items = tuple(items[place] for place in places)
            marked = frozenset(at for at, place in enumerate(places) if place in marked)
        messages = self._threads.messages(conversation, items, marked, self.messages)
        if not request.system:
            return messages
        on_system = self.target.marks and (request.marks.system or request.marks.tools)
        return [spell(self.system(request.system, marked=on_system)), *messages]

    def sendable(self, request: Request) -> tuple[int, ...] | None:  # noqa: ARG002  (for those that have some)
        """Return the places of the items that make sense beside the request's tools; None: all do."""
        return None

    def _spelled(self, tools: tuple[Tool, ...]) -> bytes:
        key = tuple(tool.spelling for tool in tools)
        known = self._tools.get(key)
        if known is None:
            known = self._tools[key] = spell(self.tools(tools))
            while len(self._tools) > KEPT_TOOLS:
                self._tools.popitem(last=False)
        return known

    @abstractmethod
    def fixed(self, *, stream: bool) -> dict[str, Json]:
        """Return the fields that are the same in every request."""

    def tools(self, tools: tuple[Tool, ...]) -> list[Json]:
        """Return the declarations of all tools."""
        return [self.tool(tool) for tool in tools]

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
