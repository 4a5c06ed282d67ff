"""Replies of the Responses API."""

from __future__ import annotations

import json
from collections.abc import Iterable

from attrs import define, field

from wakeful.types import (
    Call,
    Emit,
    Item,
    Json,
    Opaque,
    Reply,
    Request,
    Stop,
    Text,
    TextDelta,
    Trust,
    Usage,
    clean_text,
)
from wakeful_openai.errors import ApiFaults
from wakeful_openai.facts import PROVIDER
from wakeful_openai.form import Reader
from wakeful_openai.ids import CallIds
from wakeful_openai.pieces import Flow, read_content, spelled_args
from wakeful_openai.usage import read_usage

#: Kind of the opaque item that says which phase of an answer the next text is; models want it back.
PHASE = "message_phase"
#: Kind of the opaque item that says in which namespace the next call's tool is; it goes back with the call.
NAMESPACE = "call_namespace"
#: Kinds of opaque items that bring nothing from outside: thoughts, and what is about the declared tools.
_INSIDE = frozenset({"reasoning", "compaction", "tool_search_call", "tool_search_output", PHASE, NAMESPACE})

_TEXT = frozenset({"response.output_text.delta", "response.refusal.delta"})
_THOUGHT = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_LAST = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_ITEM = "response.output_item.done"
#: Events that are read; the others repeat what these say.
_READ = _TEXT | _THOUGHT | _LAST | {_ITEM, "error"}
_SKIPPED_PREFIX = b"response."


@define(eq=False)
class ResponsesReader(Reader):
    """Takes in a stream: shows its deltas, and reads the reply from the last event, which holds it whole."""

    request: Request
    emit: Emit | None
    faults: ApiFaults
    _text: Flow = field(factory=Flow, init=False)
    _thoughts: Flow = field(factory=Flow, init=False)
    _items: list[Json] = field(factory=list, init=False)
    _response: Json = field(default=None, init=False)

    @property
    def usage(self) -> Usage | None:
        """Only the last event says what was used."""
        usage = read_usage(self._response.get("usage")) if isinstance(self._response, dict) else None
        return usage if usage is not None and usage.reported else None

    async def feed(self, event: bytes, data: bytes) -> bool:
        """Take one event."""
        if event.startswith(_SKIPPED_PREFIX) and event.decode(errors="replace") not in _READ:
            return False
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            seen = data.decode(errors="replace")
            raise self.faults.broken(f"an event of the stream is broken JSON: {seen}") from None
        if not isinstance(body, dict):
            raise self.faults.odd(f"an event that is no object: {data.decode(errors='replace')}")
        return await self._take(body.get("type") or event.decode(errors="replace"), body)

    async def _take(self, kind: str, body: dict[str, Json]) -> bool:
        if kind == "error" or (body.get("error") and "response" not in body):
            raise self.faults.of_body(body)
        if kind in _TEXT or kind in _THOUGHT:
            await self._show(body.get("delta"), thinking=kind in _THOUGHT)
        elif kind == _ITEM:
            self._items.append(body.get("item"))
        elif kind in _LAST:
            self._response = body.get("response")
            return True
        return False

    async def _show(self, delta: Json, *, thinking: bool) -> None:
        if self.emit is None or not isinstance(delta, str):
            return
        text = (self._thoughts if thinking else self._text).add(delta)
        if text:
            await self.emit(TextDelta(text, thinking=thinking))

    def finish(self, *, done: bool) -> Reply:
        """Return the reply of the last event."""
        response = self._response
        if response is None:
            raise self.faults.cut() if not done else self.faults.odd("the stream has no last event")
        if isinstance(response, dict) and not response.get("output") and self._items:
            response = {**response, "output": self._items}
        return read_response(response, self.request, self.faults)


def read_response(body: Json, request: Request, faults: ApiFaults) -> Reply:
    """Return the reply in a response object.

    Raises:
        ModelError: it failed, or cannot be read.
    """
    if not isinstance(body, dict):
        raise faults.odd(f"a {type(body).__name__} where a response should be")
    usage = read_usage(body.get("usage"))
    said = usage if usage.reported else None
    status = body.get("status") or "completed"
    if status in {"failed", "cancelled"} or (body.get("error") and not body.get("output")):
        raise faults.of_body(body.get("error") or f"the response was {status}", usage=said)
    if status not in {"completed", "incomplete"}:
        raise faults.odd(f"the response is {status!r}", said)
    output = body.get("output")
    if not isinstance(output, list):
        raise faults.odd(f"no output; its fields are {', '.join(sorted(body)) or 'none'}", said)
    cut = _cut(body) if status == "incomplete" else None
    items = _Items(request, faults, said, cut=cut is Stop.LENGTH)
    for item in output:
        items.take(item)
    stop = items.stop(cut)
    # What a model refuses to finish is not acted on.
    taken = [item for item in items.taken if stop is not Stop.REFUSED or not isinstance(item, Call)]
    found = looked_up(taken)
    if found:
        return Reply(tuple(taken), usage, stop, trust=Trust.UNTRUSTED, source=f"{PROVIDER}:{found}")
    return Reply(tuple(taken), usage, stop)


def looked_up(items: Iterable[Item]) -> str:
    """Return which of the provider's tools may have brought something into a reply; empty if none."""
    kinds = (str(item.data.get("type")) for item in items if isinstance(item, Opaque))
    return ", ".join(dict.fromkeys(kind for kind in kinds if kind not in _INSIDE))


def _cut(body: dict[str, Json]) -> Stop:
    details = body.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return Stop.REFUSED if reason == "content_filter" else Stop.LENGTH


@define(eq=False)
class _Items:
    """Collects the items of one response."""

    request: Request
    faults: ApiFaults
    said: Usage | None
    cut: bool
    taken: list[Item] = field(factory=list)
    refused: bool = False
    ids: CallIds = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.ids = CallIds(self.request)

    def take(self, item: Json) -> None:
        if not isinstance(item, dict) or not isinstance(item.get("type"), str):
            raise self.faults.odd(f"an output item without a type: {item!r}", self.said)
        if item["type"] == "message":
            self._message(item)
        elif item["type"] == "function_call":
            self._call(item)
        else:  # reasoning, and what the provider's own tools did
            self.taken.append(Opaque(PROVIDER, item))

    def _message(self, item: dict[str, Json]) -> None:
        parts = read_content(item.get("content"))
        if parts is None:
            raise self.faults.odd(f"content that is no text: {item.get('content')!r}", self.said)
        self.refused = self.refused or bool(parts.refusal)
        text = clean_text(parts.text + parts.refusal)
        if not text:
            return
        if isinstance(item.get("phase"), str):
            self.taken.append(Opaque(PROVIDER, {"type": PHASE, "phase": item["phase"]}))
        self.taken.append(Text("assistant", text))

    def _call(self, item: dict[str, Json]) -> None:
        name, args = item.get("name"), item.get("arguments")
        if not isinstance(name, str) or not name.strip():
            raise self.faults.odd(f"a call without a name: {item!r}", self.said)
        args = spelled_args(args, cut=self.cut)
        if args is None:
            raise self.faults.odd(f"arguments of {name} that are no object: {item['arguments']!r}", self.said)
        if isinstance(item.get("namespace"), str):
            self.taken.append(Opaque(PROVIDER, {"type": NAMESPACE, "namespace": item["namespace"]}))
        self.taken.append(Call(self.ids.take(item.get("call_id") or item.get("id")), name.strip(), args))

    def stop(self, cut: Stop | None) -> Stop:
        if cut is not None:
            return cut
        if self.refused:
            return Stop.REFUSED
        return Stop.CALLS if any(isinstance(item, Call) for item in self.taken) else Stop.END
