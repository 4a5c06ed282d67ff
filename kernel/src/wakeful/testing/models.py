"""A model that plays what a test wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from attrs import define, field, frozen

from wakeful.types import (
    Call,
    Emit,
    Item,
    Json,
    ModelError,
    Opaque,
    Profile,
    Reply,
    Request,
    Stop,
    Text,
    TextDelta,
    Trust,
    Usage,
    canonical,
)

#: The provider's name in requests and errors.
PROVIDER = "scripted"
#: Characters of a streamed piece; small, so that an ordinary reply has several.
PIECE = 8


class Waits(Protocol):
    """Anything to wait for: a :class:`wakeful.testing.Gate` or an :class:`asyncio.Event`."""

    def wait(self) -> Awaitable[Any]:
        """Return what is awaited."""
        ...


@frozen
class Say:
    """One reply of a script; made by :func:`say`."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    thinking: str = ""
    stop: Stop | None = None
    usage: Usage = Usage()
    error: Exception | None = None
    wait: Waits | None = None
    items: tuple[Item, ...] | None = None
    trust: Trust = Trust.TRUSTED
    source: str = ""

    def reply(self, number: int, provider: str = PROVIDER) -> Reply:
        """Return the reply; the ids of its calls follow from its number, from 1."""
        if self.items is not None:
            return self._reply(self.items, Stop.END)
        items: list[Item] = []
        if self.thinking:
            items.append(Opaque(provider, {"type": "thinking", "thinking": self.thinking}))
        if self.text:
            items.append(Text("assistant", self.text))
        for place, (tool, args) in enumerate(self.calls, 1):
            items.append(Call(f"call_{number}_{place}", tool, args))
        return self._reply(tuple(items), Stop.CALLS if self.calls else Stop.END)

    def _reply(self, items: tuple[Item, ...], stop: Stop) -> Reply:
        return Reply(items, self.usage, self.stop or stop, trust=self.trust, source=self.source)


def say(
    text: str = "",
    *,
    calls: Sequence[tuple[str, Mapping[str, Json] | str] | str] = (),
    thinking: str = "",
    stop: Stop | str | None = None,
    usage: Usage | Mapping[str, Any] | None = None,
    error: Exception | None = None,
    wait: Waits | None = None,
) -> Say:
    """Return a reply of a script.

    Args:
        text: what the model says.
        calls: ``(tool, arguments)``; a string is sent as the arguments' very bytes, broken ones included.
            A bare tool name calls it without arguments.
        thinking: reasoning, as a block of its own before the text.
        stop: why the reply ends; by default ``calls`` if there are any, else ``end``.
        usage: tokens, e.g. ``{"uncached": 10, "output": 5, "cost": 0.01}``.
        error: raised instead of a reply, usually a :class:`wakeful.types.ModelError`.
        wait: the reply comes when this lets it through.
    """
    pairs = [(item, {}) if isinstance(item, str) else item for item in calls]
    spelled = tuple((tool, args if isinstance(args, str) else canonical(args)) for tool, args in pairs)
    counted = usage if isinstance(usage, Usage) else Usage(**(usage or {}))
    return Say(text, spelled, thinking, None if stop is None else Stop(stop), counted, error, wait)


def shown(item: Item) -> str:
    """Return what an item of a request or a row says: its text, a call's arguments, nothing for a block."""
    if isinstance(item, Call):
        return item.args
    return "" if isinstance(item, Opaque) else item.text


Scripted = Say | str | Reply | Exception
Line = Scripted | Callable[[Request], Any]


@define(eq=False)
class ScriptedModel:
    """A :class:`wakeful.types.Model` that answers each request of a conversation with the next reply.

    Args:
        replies: each a text, what :func:`say` returns, a whole ``Reply``, an exception to raise, or a
            function of the request that returns one of these (it may be async).
        profile: facts about the pretended model.

    Attributes:
        requests: every request, in the order they came.
    """

    replies: Sequence[Line] = ()
    profile: Profile = Profile(PROVIDER)
    requests: list[Request] = field(factory=list, init=False)
    _asked: Counter[str] = field(factory=Counter, init=False)

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        """Answer with the conversation's next reply.

        Raises:
            ModelError: the script is over, or says so itself.
        """
        self.requests.append(request)
        self._asked[conversation] += 1
        number = self._asked[conversation]
        if number > len(self.replies):
            count = f"{len(self.replies)} replies"
            raise ModelError("unknown", f"the script has {count}, and reply {number} was asked for")
        line: Any = self.replies[number - 1]
        if callable(line):
            line = line(request)
            if isinstance(line, Awaitable):
                line = await line
        return await _play(line, number, self.profile.provider, emit)


async def _play(line: Any, number: int, provider: str, emit: Emit | None) -> Reply:
    if isinstance(line, str):
        line = say(line)
    if isinstance(line, Exception):
        raise line
    if isinstance(line, Reply):
        line = Say(items=line.items, usage=line.usage, stop=line.stop, trust=line.trust, source=line.source)
    if not isinstance(line, Say):
        raise TypeError(f"reply {number} of the script is a {type(line).__name__}; write say(...), or a text")
    if line.wait is not None:
        await line.wait.wait()
    if line.error is not None:
        raise line.error
    reply = line.reply(number, provider)
    if emit is not None:
        await _stream(reply, line.thinking, emit)
    return reply


async def _stream(reply: Reply, thinking: str, emit: Emit) -> None:
    text = "".join(item.text for item in reply.items if isinstance(item, Text))
    for whole, thought in ((thinking, True), (text, False)):
        for start in range(0, len(whole), PIECE):
            await emit(TextDelta(whole[start : start + PIECE], thinking=thought))
