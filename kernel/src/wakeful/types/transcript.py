"""The transcript: flat items in numbered rows. A provider groups items into its own messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from wakeful.types.enums import RowKind, Trust
from wakeful.types.json import Json


@frozen
class Text:
    """A piece of plain text. ``role`` is ``user`` or ``assistant``."""

    role: str
    text: str


@frozen
class Call:
    """A tool call as the model wrote it: ``args`` are the model's own bytes, never re-serialised."""

    id: str
    tool: str
    args: str


@frozen
class Result:
    """The frozen, rendered text that answers the call ``call_id``."""

    call_id: str
    text: str
    failed: bool = False


@frozen
class Opaque:
    """A provider's own block (thinking, server tools), replayed unchanged; key order is content."""

    provider: str
    data: Json


Item = Text | Call | Result | Opaque

_BY_TAG: dict[str, type[Any]] = {"text": Text, "call": Call, "result": Result, "opaque": Opaque}
_TAG = {cls: tag for tag, cls in _BY_TAG.items()}


def dump_item(item: Item) -> list[Json]:
    """Return ``item`` as the JSON list that the store keeps: the tag, then the fields in order."""
    tag = _TAG[type(item)]
    if isinstance(item, Text):
        return [tag, item.role, item.text]
    if isinstance(item, Call):
        return [tag, item.id, item.tool, item.args]
    if isinstance(item, Result):
        return [tag, item.call_id, item.text, item.failed]
    return [tag, item.provider, item.data]


def load_item(value: list[Json]) -> Item:
    """Return the item that :func:`dump_item` wrote."""
    item: Item = _BY_TAG[value[0]](*value[1:])
    return item


@frozen
class Row:
    """One entry of a conversation. Rows are appended and never edited or deleted by the harness.

    Args:
        seq: 1, 2, 3 … per conversation, gapless; the handle people and tools use.
        kind: see :class:`RowKind`.
        items: what the row holds, in order.
        run: the id of the run that wrote it.
        turn: the number of the conversation's turn, from 1.
        step: the step of the run, from 1; 0 for the turn's input.
        trust: how far the contents may be believed.
        source: where they came from, e.g. ``action:get_inbox``.
        meta: ``message_type`` and ``turn_added`` on every result row, plus what plugins add.
    """

    seq: int
    kind: RowKind
    items: tuple[Item, ...]
    run: str = ""
    turn: int = 0
    step: int = 0
    trust: Trust = Trust.TRUSTED
    source: str = ""
    meta: Mapping[str, Json] = field(factory=dict)

    @property
    def text(self) -> str:
        """All text and result text of the row, joined by newlines."""
        return "\n".join(item.text for item in self.items if isinstance(item, Text | Result))

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of an assistant row, in the order the model wrote them."""
        return tuple(item for item in self.items if isinstance(item, Call))


@frozen
class View:
    """What is sent of a conversation. ``name`` changes exactly when a declared rewrite happened."""

    rows: tuple[Row, ...]
    name: str = "full"
