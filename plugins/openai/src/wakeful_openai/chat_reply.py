"""Replies of Chat Completions, from OpenAI and from servers that speak nearly the same."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from attrs import define, field

from wakeful.types import Emit, Item, Json, ModelError, Opaque, Reply, Request, Stop, Text, TextDelta, Usage
from wakeful_openai.chat_calls import Calls
from wakeful_openai.errors import ApiFaults
from wakeful_openai.facts import PROVIDER
from wakeful_openai.form import Reader
from wakeful_openai.ids import CallIds
from wakeful_openai.pieces import Flow, read_content
from wakeful_openai.usage import read_usage

#: Kind of the opaque item that holds the reasoning of servers that want it back.
REASONING = "reasoning_content"
#: Fields in which servers send reasoning; the first that holds any counts.
_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking")

#: Finish reasons that are not OpenAI's own ``stop``, ``length``, ``tool_calls`` and ``content_filter`` too.
_STOPS: Mapping[str, Stop] = {
    "length": Stop.LENGTH,
    "max_tokens": Stop.LENGTH,
    "max_output_tokens": Stop.LENGTH,
    "model_length": Stop.LENGTH,
    "content_filter": Stop.REFUSED,
    "refusal": Stop.REFUSED,
    "safety": Stop.REFUSED,
    "sensitive": Stop.REFUSED,
    "recitation": Stop.REFUSED,
}
#: Finish reasons that say that the server gave up; another try may succeed.
_FAILED: Mapping[str, str] = {
    "error": "server",
    "network_error": "server",
    "abort": "server",
    "insufficient_system_resource": "overloaded",
}


@define(eq=False)
class _Gathering:
    """One reply, put together from choices: those of every chunk, or those of a whole reply."""

    faults: ApiFaults
    calls: Calls = field(init=False)
    text: Flow = field(factory=Flow)
    thoughts: Flow = field(factory=Flow)
    refusal: Flow = field(factory=Flow)
    reasoning_field: str = ""
    finish: str = ""

    def __attrs_post_init__(self) -> None:
        self.calls = Calls(self.faults)

    @property
    def started(self) -> bool:
        return bool(self.text.text or self.calls or self.refusal.text)

    def take(self, choice: Json, *, whole: bool = False) -> Iterator[tuple[str, bool]]:
        """Take one choice and yield (text, whether it is thinking) that can be shown."""
        if not isinstance(choice, dict):
            raise self.faults.odd(f"a choice that is no object: {choice!r}")
        said = choice.get("delta")
        if said is None:
            # A whole message at the end of a stream repeats what its deltas said.
            said = choice.get("message") if whole or not self.started else None
        if said is None and isinstance(choice.get("text"), str):
            said = {"content": choice["text"]}
        if said is not None:
            yield from self._message(said)
        reason = choice.get("finish_reason") or choice.get("stop_reason")
        if reason and not self.finish:
            self.finish = str(reason)

    def _message(self, said: Json) -> Iterator[tuple[str, bool]]:
        if not isinstance(said, dict):
            raise self.faults.odd(f"a message that is no object: {said!r}")
        parts = read_content(said.get("content"))
        if parts is None:
            raise self.faults.odd(f"content that is no text: {said.get('content')!r}")
        yield self.thoughts.add(self._reasoning(said) or parts.thinking), True
        refusal = said.get("refusal")
        yield self.text.add(parts.text), False
        yield self.refusal.add(parts.refusal + (refusal if isinstance(refusal, str) else "")), False
        if said.get("tool_calls"):
            self.calls.add(said["tool_calls"])
        elif said.get("function_call"):
            self.calls.add_legacy(said["function_call"])

    def _reasoning(self, said: dict[str, Json]) -> str:
        for name in _REASONING_FIELDS:
            value = said.get(name)
            if isinstance(value, str) and value:
                self.reasoning_field = self.reasoning_field or name
                return value
        return ""

    def reply(self, request: Request, usage: Usage, *, keep_reasoning: bool) -> Reply:
        """Return the reply.

        Raises:
            ModelError: it cannot be used, or the server gave up.
        """
        said = usage if usage.reported else None
        reason = self.finish.lower()
        if reason in _FAILED:
            what = f"the server gave up in the middle of the reply ({self.finish})"
            raise self.faults.error(_FAILED[reason], what, retryable=True, usage=said)
        stop = _STOPS.get(reason)
        calls = self.calls.taken(CallIds(request), cut=stop is Stop.LENGTH)
        if isinstance(calls, ModelError):
            calls.usage = said
            raise calls
        items: list[Item] = []
        if keep_reasoning and self.thoughts.text:
            name = self.reasoning_field or _REASONING_FIELDS[0]
            items.append(Opaque(PROVIDER, {"type": REASONING, "field": name, "text": self.thoughts.text}))
        text = self.text.text + self.refusal.text
        if text.strip():
            items.append(Text("assistant", text))
        if stop is None:
            stop = Stop.REFUSED if self.refusal.text else Stop.CALLS if calls else Stop.END
        if stop is Stop.REFUSED:
            calls = []  # what a model refuses to finish is not acted on
        return Reply((*items, *calls), usage, stop)


@define(eq=False)
class ChatReader(Reader):
    """Takes in a stream of chunks."""

    request: Request
    emit: Emit | None
    faults: ApiFaults
    keep_reasoning: bool
    _gathering: _Gathering = field(init=False)
    _usage: tuple[Json, Json] = field(default=(None, None), init=False)
    _chunks: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._gathering = _Gathering(self.faults)

    @property
    def usage(self) -> Usage | None:
        """The last usage that a chunk held."""
        usage = read_usage(*self._usage)
        return usage if usage.reported else None

    async def feed(self, event: bytes, data: bytes) -> bool:
        """Take one chunk; only ``[DONE]`` ends the stream, as usage follows after the last choice."""
        if not data.strip():
            return False  # kept alive by an empty event
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            what = f"a chunk of the stream is broken JSON: {data.decode(errors='replace')}"
            raise self.faults.broken(what, self.usage) from None
        if not isinstance(chunk, dict):
            raise self.faults.odd(f"a chunk that is no object: {chunk!r}", self.usage)
        found = raw_usage(chunk)
        if read_usage(*found).reported:
            self._usage = found
        if chunk.get("error") or event == b"error" or chunk.get("object") == "error":
            raise self.faults.of_body(chunk, usage=self.usage)
        self._chunks += 1
        await self._choices(chunk.get("choices"))
        return False

    async def _choices(self, choices: Json) -> None:
        if choices is None:
            return
        if not isinstance(choices, list):
            raise self.faults.odd(f"choices that are no list: {choices!r}", self.usage)
        for choice in filter(_first, choices):
            for text, thinking in self._gathering.take(choice):
                if text and self.emit is not None:
                    await self.emit(TextDelta(text, thinking=thinking))

    def finish(self, *, done: bool) -> Reply:
        """Return the reply; without ``[DONE]`` a finish reason must say that it is whole."""
        if not done and not self._gathering.finish:
            raise self.faults.cut(self.usage)
        if not self._chunks:
            raise self.faults.odd("the stream held nothing")
        usage = read_usage(*self._usage)
        return self._gathering.reply(self.request, usage, keep_reasoning=self.keep_reasoning)


def read_completion(body: Json, request: Request, faults: ApiFaults, *, keep_reasoning: bool) -> Reply:
    """Return the reply in a whole completion.

    Raises:
        ModelError: it cannot be read.
    """
    if not isinstance(body, dict):
        raise faults.odd(f"a {type(body).__name__} where a completion should be")
    usage = read_usage(*raw_usage(body))
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        seen = "empty choices" if choices == [] else f"no choices; its fields are {', '.join(sorted(body))}"
        raise faults.odd(f"{seen}{_hint(body)}", usage if usage.reported else None)
    gathering = _Gathering(faults)
    for choice in [choice for choice in choices if _first(choice)] or choices[:1]:
        for _ in gathering.take(choice, whole=True):
            pass
    return gathering.reply(request, usage, keep_reasoning=keep_reasoning)


def _first(choice: Json) -> bool:
    """Whether a choice belongs to the first reply; those beside it (``n`` above 1) are left out.

    Some servers send the text and the calls of one reply as two choices, without an index.
    """
    index = choice.get("index") if isinstance(choice, dict) else None
    return not isinstance(index, int) or index == 0


def _hint(body: dict[str, Json]) -> str:
    said = next((body[key] for key in ("message", "detail", "msg") if isinstance(body.get(key), str)), "")
    return f": {said}" if said else ""


def raw_usage(body: Json) -> tuple[Json, Json]:
    """Return (usage, timings) of a chunk or a whole reply, from wherever a server puts them."""
    if not isinstance(body, dict):
        return None, None
    places = [body, body.get("x_groq"), *_list(body.get("choices"))]
    usage = next((place["usage"] for place in places if isinstance(place, dict) and place.get("usage")), None)
    return usage, body.get("timings")


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
