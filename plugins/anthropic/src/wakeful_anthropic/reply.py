"""What the API answers, whole or in events, as items of a transcript."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define, field

from wakeful.types import Call, Item, Json, Opaque, Stop, Text
from wakeful_anthropic.profiles import PROVIDER
from wakeful_anthropic.sse import UnreadableError

#: ``stop_reason`` (API reference, "Handling stop reasons") of replies without calls. An ordinary end of one
#: with calls is CALLS.
STOPS = {
    "end_turn": Stop.END,
    "stop_sequence": Stop.END,
    "tool_use": Stop.END,
    "max_tokens": Stop.LENGTH,
    "model_context_window_exceeded": Stop.LENGTH,
    "refusal": Stop.REFUSED,
    "pause_turn": Stop.PAUSE,
}
_CUT = frozenset(reason for reason, stop in STOPS.items() if stop is Stop.LENGTH)
#: Blocks in which the model calls what the provider runs.
_SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
#: How the types of blocks end in which the provider's tools answer.
_FOUND = "_tool_result"
#: Under which key a block keeps the JSON that its deltas spell, until it is whole. No block of the API has it
_SPELLED = "\0spelled"
#: Deltas by their type: the key of a block they add to, and of their own that holds the addition.
_ADDS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": (_SPELLED, "partial_json"),
}


@define(eq=False)
class Answer:
    """A reply as it arrives.

    Args:
        raw_usage: what was reported so far, also when the rest never comes.
        taken: whether the API took the request, so that it may have used something.
    """

    raw_usage: dict[str, Any] = field(factory=dict)
    taken: bool = False
    stop_reason: str | None = None
    details: Json = None
    began: bool = False
    ended: bool = False
    blocks: dict[int, dict[str, Any]] = field(factory=dict)

    @property
    def whole(self) -> bool:
        """Whether everything arrived: a stream says why the reply stopped after its last block."""
        return self.ended or self.stop_reason is not None

    def take_message(self, message: Json) -> None:
        """Take a reply that came in one piece.

        Raises:
            UnreadableError: it is no message.
        """
        if isinstance(message, dict):
            self.count(message.get("usage"))
        if not isinstance(message, dict) or not isinstance(message.get("content"), list):
            raise UnreadableError("the answer is not a message")
        self._begin(message)
        self.blocks = {at: block for at, block in enumerate(message["content"]) if isinstance(block, dict)}
        if len(self.blocks) != len(message["content"]):
            raise UnreadableError("the message holds something that is not a block")
        self.ended = True

    def take_event(self, event: Json) -> tuple[str, bool]:
        """Take an event of a stream; return the piece of text to show, and whether it is thinking.

        Raises:
            UnreadableError: it does not fit what came before.
        """
        kind = event.get("type") if isinstance(event, dict) else None
        if kind == "content_block_delta":
            return self._add(event)
        if kind == "content_block_start":
            self.blocks[event.get("index", len(self.blocks))] = dict(event.get("content_block") or {})
        elif kind == "message_start":
            self._begin(event.get("message") or {})
            self.stop_reason = None
        elif kind == "message_delta":
            delta = event.get("delta") or {}
            self.stop_reason = delta.get("stop_reason") or self.stop_reason
            self.details = delta.get("stop_details") or self.details
            self.count(event.get("usage"))
        elif kind == "message_stop":
            self.ended = True
        elif not isinstance(kind, str):
            raise UnreadableError("an event has no type")
        return "", False

    def count(self, usage: Json) -> None:
        """Take what was used so far: counts are cumulative and replace earlier ones; the others stay."""
        if isinstance(usage, dict):
            self.raw_usage.update((key, value) for key, value in usage.items() if value is not None)

    def items(self) -> tuple[Item, ...]:
        """Return the reply's items.

        Raises:
            UnreadableError: a call has no id or no name.
        """
        blocks = [block for _, block in sorted(self.blocks.items())]
        if self.stop_reason in _CUT and blocks and str(blocks[-1].get("type")) in _SERVER_CALLS:
            del blocks[-1]  # cut while it was written; the provider did not run it
        return tuple(_items(blocks))

    def stop(self, items: Iterable[Item]) -> Stop:
        """Return why the reply ended; a reason that nobody knows counts as an ordinary end.

        Raises:
            UnreadableError: no reason was given.
        """
        if not self.stop_reason:
            raise UnreadableError("the reply gives no stop_reason")
        stop = STOPS.get(self.stop_reason, Stop.END)
        calls = any(isinstance(item, Call) for item in items)
        return Stop.CALLS if calls and stop is Stop.END else stop

    def _begin(self, message: Mapping[str, Any]) -> None:
        self.began = True
        self.count(message.get("usage"))
        self.stop_reason = message.get("stop_reason")
        self.details = message.get("stop_details")

    def _add(self, event: Mapping[str, Any]) -> tuple[str, bool]:
        block, delta = self.blocks.get(event.get("index", -1)), event.get("delta") or {}
        if block is None:
            raise UnreadableError("a piece of a block came before the block")
        kind = delta.get("type")
        if kind not in _ADDS:
            return "", False  # citations and whatever comes later: nothing of a transcript is in them
        key, source = _ADDS[kind]
        piece = delta.get(source)
        if not isinstance(piece, str):
            raise UnreadableError(f"a {kind} holds no text")
        block[key] = (block.get(key) or "") + piece
        return (piece, kind == "thinking_delta") if key in {"text", "thinking"} else ("", False)


def looked_up(items: Iterable[Item]) -> str:
    """Return which of the provider's tools brought something into a reply; empty if none did.

    Its search among the declared tools brings nothing from outside.
    """
    kinds = (str(item.data.get("type")) for item in items if isinstance(item, Opaque))
    found = (kind.removesuffix(_FOUND) for kind in kinds if kind.endswith(_FOUND))
    return ", ".join(dict.fromkeys(name for name in found if not name.startswith("tool_search")))


def _items(blocks: Iterable[dict[str, Any]]) -> Iterable[Item]:
    for block in blocks:
        spelled, kind = block.pop(_SPELLED, ""), block.get("type")
        if kind == "text":
            if block.get("text"):
                yield Text("assistant", str(block["text"]))
        elif kind == "tool_use":
            yield _call(block, spelled)
        elif isinstance(kind, str):
            yield Opaque(PROVIDER, _with_input(block, spelled))
        else:
            raise UnreadableError("a block has no type")


def _call(block: Mapping[str, Any], spelled: str) -> Call:
    marker, name = block.get("id"), block.get("name")
    if not (isinstance(marker, str) and marker and isinstance(name, str) and name):
        raise UnreadableError("a call has no id or no name")
    given = block.get("input")
    if not spelled and isinstance(given, str):
        spelled = given  # some compatible servers spell the arguments in a string
    return Call(marker, name, spelled or json.dumps(given or {}, ensure_ascii=False, separators=(",", ":")))


def _with_input(block: dict[str, Any], spelled: str) -> Json:
    """Return a provider's own block, its input parsed if it came in pieces."""
    if spelled:
        try:
            block["input"] = json.loads(spelled)
        except ValueError:
            raise UnreadableError(f"the input of a {block['type']} is broken JSON") from None
    return block
