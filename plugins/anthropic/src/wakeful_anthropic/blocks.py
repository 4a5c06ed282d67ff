"""Items of a transcript as blocks of the Messages API, each spelled in JSON once.

A request repeats almost everything of the one before it. So a block is spelled when its item is first seen,
and a request is put together from bytes that exist already.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attrs import define, field

from wakeful.models.names import NAME_LIMIT, within
from wakeful.types import Call, Item, Json, Opaque, Result, Text, clean
from wakeful_anthropic.profiles import PROVIDER

#: Bytes of spelled blocks kept in memory, per model of an agent; beyond it the least recent half is dropped.
REMEMBERED = 16 * 2**20
#: Under which key arguments are sent back that are not a JSON object, so that the model sees what it wrote;
#: as Anthropic's guide to fine-grained tool streaming advises.
BROKEN = "INVALID_JSON"

_UNMARKABLE = frozenset({"thinking", "redacted_thinking"})


@define
class Block:
    """One block: the JSON of it, whose it is, and whether a cache breakpoint may stand on it.

    Args:
        role: ``user`` or ``assistant``.
        data: the JSON as UTF-8.
        markable: empty and thinking blocks take no breakpoint.
        call: id of the call it makes, as sent; empty for others.
        answers: id of the call it answers, as sent; empty for others.
        serves: id of the provider's own call that it makes or answers; empty for others.
        refers: the tools that the provider's search found, in its answer.
    """

    role: str
    data: bytes
    markable: bool = True
    call: str = ""
    answers: str = ""
    serves: str = ""
    refers: tuple[str, ...] = ()


def spell(value: Json) -> bytes:
    """Return ``value`` as JSON in UTF-8, keys in their order; what UTF-8 cannot hold is replaced."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(clean(value), ensure_ascii=False, separators=(",", ":")).encode()


def text_block(text: str) -> bytes:
    """Return the JSON of a text block."""
    return b'{"type":"text","text":' + spell(text) + b"}"


def block_of(item: Item) -> Block | None:
    """Return the block of an item; None for blank text, unsigned thinking and another provider's own."""
    if isinstance(item, Text):
        role = "assistant" if item.role == "assistant" else "user"
        return Block(role, text_block(item.text)) if item.text.strip() else None
    if isinstance(item, Call):
        name, marker = within(item.tool, NAME_LIMIT), within(item.id)
        head = b'{"type":"tool_use","id":' + spell(marker) + b',"name":' + spell(name)
        return Block("assistant", head + b',"input":' + _arguments(item.args) + b"}", call=marker)
    if isinstance(item, Result):
        marker = within(item.call_id)
        data = b'{"type":"tool_result","tool_use_id":' + spell(marker)
        data += b',"content":' + spell(item.text) if item.text.strip() else b""
        return Block("user", data + (b',"is_error":true}' if item.failed else b"}"), answers=marker)
    return _own(item)


def _own(item: Opaque) -> Block | None:
    if item.provider != PROVIDER or not isinstance(item.data, dict):
        return None
    kind = item.data.get("type")
    if kind == "thinking" and not item.data.get("signature"):
        return None  # cut before it was signed; the API refuses the whole request over it
    serves = item.data.get("tool_use_id") or (item.data.get("id") if kind == "server_tool_use" else "")
    return Block(
        "assistant",
        spell(item.data),
        markable=kind not in _UNMARKABLE,
        serves=str(serves or ""),
        refers=_references(item.data),
    )


def _references(data: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the names of the tools that an answer of the provider's search refers to."""
    content = data.get("content")
    found = content.get("tool_references") if isinstance(content, Mapping) else None
    if not isinstance(found, list):
        return ()
    return tuple(str(each.get("tool_name")) for each in found if isinstance(each, Mapping))


def _arguments(args: str) -> bytes:
    """Return the model's own bytes if they are a JSON object; else an object that holds them."""
    try:
        value = json.loads(args or "{}", parse_constant=_refuse)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return spell({BROKEN: args})
    if "\\u" in args:  # escapes may spell half a character, which the API refuses
        checked = clean(value)
        return args.encode("utf-8", "replace") if checked == value else spell(checked)
    return (args or "{}").encode("utf-8", "replace")


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


@define(eq=False)
class Memory:
    """The blocks of items seen before, by the identity of the item, within a limit of bytes.

    Two generations: what is asked for again moves to the young one, and when that is full the old one goes.
    """

    limit: int = REMEMBERED
    _young: dict[int, tuple[Item, Block | None]] = field(factory=dict, init=False)
    _old: dict[int, tuple[Item, Block | None]] = field(factory=dict, init=False)
    _size: int = field(default=0, init=False)

    def block(self, item: Item) -> Block | None:
        """Return the block of an item. The item is kept, so that its identity stays its own."""
        key = id(item)
        found = self._young.get(key)
        if found is None:
            found = self._old.pop(key, None) or (item, block_of(item))
            self._size += 64 + (len(found[1].data) if found[1] is not None else 0)
            if self._size > self.limit // 2:
                self._old, self._young, self._size = self._young, {}, 0
            self._young[key] = found
        return found[1]
