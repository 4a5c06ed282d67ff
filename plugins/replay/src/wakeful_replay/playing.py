"""Turning a line into a reply: which line is due, what its items are, how it streams."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

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
    Usage,
)
from wakeful_replay.lines import Line

#: Name of the provider, and of the blocks it leaves in a conversation.
PROVIDER = "replay"
#: Characters that count as one token where nothing was reported; the usual rule of thumb for English.
CHARS_PER_TOKEN = 4

_CALL_ID = re.compile(r"call_(\d{1,9})_\d+")
_WORD = re.compile(r"\S+\s*|\s+")
#: Stops after which the loop may not keep a call, so that its id cannot be relied on.
_CUT = {Stop.LENGTH, Stop.PAUSE, Stop.REFUSED}


def replies(items: Sequence[Item]) -> int:
    """Return how many replies a conversation already holds. Needs no memory but the items.

    Every reply of a script carries its number, in the ids of its calls or in a block of its own, so
    the last number found is the answer, whatever a compaction left out before it. Replies without a
    number, of another model for example, count one for each unbroken run of assistant items.
    """
    count, inside = 0, False
    for item in items:
        if isinstance(item, Text) and item.role != "assistant":
            inside = False
        elif isinstance(item, Text | Call | Opaque):
            count = _number_of(item) or (count if inside else count + 1)
            inside = True
        else:
            inside = False
    return count


def build_items(line: Line, number: int, *, marked: bool) -> tuple[Item, ...]:
    """Return the items of a reply.

    Args:
        line: the line that answers.
        number: which reply of the conversation this is, from 1.
        marked: whether the reply must carry its number, as those of scripts do.
    """
    if line.items is not None:
        return line.items
    calls = tuple(
        Call(call.id or f"call_{number}_{index}", call.tool, call.args)
        for index, call in enumerate(line.calls, 1)
    )
    data: dict[str, Json] = {}
    if marked and not is_empty(line) and (not calls or stop_of(line) in _CUT):
        data["line"] = number
    if line.thinking:
        data["thinking"] = line.thinking
    block = (Opaque(PROVIDER, data),) if data else ()
    text = (Text("assistant", line.text),) if line.text else ()
    return (*block, *text, *calls)


def is_empty(line: Line) -> bool:
    """Return whether a reply says nothing; the loop keeps no such reply and asks once more."""
    return not (line.calls or line.items or line.thinking or line.text.strip())


def stop_of(line: Line) -> Stop:
    """Return why the reply of a line ended; a line that does not say ends with its calls, if any."""
    return line.stop or (Stop.CALLS if line.calls else Stop.END)


async def play(line: Line, request: Request, number: int, emit: Emit | None, *, marked: bool) -> Reply:
    """Return the reply of a line; with ``emit`` it streams word by word first."""
    items = build_items(line, number, marked=marked)
    if emit is not None:
        for item in items:
            if isinstance(item, Opaque):
                await _stream(str(_own(item).get("thinking", "")), emit, thinking=True)
            elif isinstance(item, Text):
                await _stream(item.text, emit, thinking=False)
    usage = line.usage or _estimate(request, line)
    return Reply(items, usage, stop_of(line), trust=line.trust, source=line.source)


def _number_of(item: Item) -> int:
    if isinstance(item, Call):
        match = _CALL_ID.fullmatch(item.id)
        return int(match[1]) if match else 0
    if isinstance(item, Opaque):
        number = _own(item).get("line", 0)
        return number if isinstance(number, int) else 0
    return 0


def _own(block: Opaque) -> Mapping[str, Json]:
    """Return what a block of a script holds; nothing for a block of another provider."""
    return block.data if block.provider == PROVIDER and isinstance(block.data, dict) else {}


async def _stream(text: str, emit: Emit, *, thinking: bool) -> None:
    for word in _WORD.findall(text):
        await emit(TextDelta(word, thinking=thinking))


def _estimate(request: Request, line: Line) -> Usage:
    """Return what the call would roughly have cost; ``reported`` says that nobody measured it."""
    written = (
        len(line.text) + len(line.thinking) + sum(len(call.tool) + len(call.args) for call in line.calls)
    )
    return Usage(uncached=_tokens(len(request.canonical())), output=_tokens(written), reported=False)


def _tokens(characters: int) -> int:
    return -(-characters // CHARS_PER_TOKEN)
