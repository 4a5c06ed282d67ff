"""Shorter texts: what stands for a result, for arguments and for a long message."""

from __future__ import annotations

from collections.abc import Mapping

from wakeful.types import Change, ChangeKind, Json, canonical, read_json
from wakeful_recovery.lifecycle.ages import Aged

#: Lines at the start of a rendered result that are the kernel's own: heading and code.
_HEAD_LINES = 2


def gone(result: Aged, kind: ChangeKind, reason: str) -> Change:
    """Return the change that leaves of a result only a line."""
    text = f"(this result is no longer shown: {reason}; {len(result.original):,} characters)"
    return Change(*result.key, kind, text, reason=reason)


def cut(result: Aged, length: int, reason: str, *, expandable: bool) -> Change:
    """Return the change that keeps the first characters of a result and says so."""
    note = f"first {length:,} of {len(result.original):,} characters"
    head, rest = _split(result.original[:length])
    return _compacted(result, head, note, rest, reason, expandable=expandable)


def summarised(result: Aged, summary: str, reason: str) -> Change:
    """Return the change that shows a summary instead of a result, below what of that is the kernel's own."""
    note = f"summary of {len(result.original):,} characters"
    head, _ = _split(result.original)
    # What wrote the result may have written the summary: nothing of it passes as the kernel's.
    rest = summary.removeprefix(head).strip() if head else summary
    return _compacted(result, head, note, rest, reason, expandable=True)


def _compacted(result: Aged, head: str, note: str, rest: str, reason: str, *, expandable: bool) -> Change:
    more = f"; expand_message(sequence={result.row.seq}) shows all" if expandable else ""
    text = "\n".join(filter(None, (head, f"({note}{more})")))
    return Change(*result.key, ChangeKind.COMPACTED, text, rest, reason, expandable)


def _split(text: str) -> tuple[str, str]:
    """Return the kernel's own heading and code, if a result as it was rendered has them, and the rest."""
    lines = text.split("\n", _HEAD_LINES)
    if len(lines) >= _HEAD_LINES and lines[0].startswith("## ") and lines[1].startswith("**Result:**"):
        code, _, message = lines[1].partition(" — ")
        rest = "\n".join(filter(None, (message, *lines[_HEAD_LINES:])))
        return f"{lines[0]}\n{code}", rest
    return "", text


def arguments(args: str, limit: int, step: int) -> str | None:
    """Return arguments with every long value replaced by a line; None if none is long.

    Args:
        args: as the model wrote them.
        limit: characters from which a value is long.
        step: where they were sent first.
    """
    if len(args) <= limit:
        return None
    try:
        values = read_json(args)
    except ValueError:
        return None
    if not isinstance(values, Mapping):
        return None
    short = {name: _stub(value, limit, step) for name, value in values.items()}
    return None if short == values else canonical(short)


def _stub(value: Json, limit: int, step: int) -> Json:
    size = len(value) if isinstance(value, str) else len(canonical(value))
    return f"<{size} characters, see step {step}>" if size > limit else value


def trimmed(text: str, length: int) -> str:
    """Return the beginning and the end of a text, ``length`` characters in all, and how much is missing."""
    start = length * 3 // 4
    missing = len(text) - length
    return f"{text[:start]}\n(… {missing:,} characters left out …)\n{text[len(text) - (length - start) :]}"
