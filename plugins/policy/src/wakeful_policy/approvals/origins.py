"""Where the values of a call came from, as a card shows it, by literal matching."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from wakeful.types import Invocation, Json, Row, RowKind, Run, Trust

#: Rows that are the model's own words, or the kernel's; they are no source. A note that is not trusted is
#: what another agent says that has read outside text.
_OWN = frozenset({RowKind.ASSISTANT, RowKind.STATE})
#: What names something inside a text: addresses, links, and words with a number of some length in them.
_NAMES = re.compile(r"(?<![\w.+-])(?:[\w.+-]+@[\w.-]+\w|\w+://\S*\w|(?:\w+\.)+[a-z]{2,}\b|[\w-]*\d[\w-]{3,})")
#: Names of one text that are looked for, and characters of it that are looked through.
NAMES, LOOKED = 50, 20_000


def origins(run: Run, inv: Invocation) -> list[dict[str, Json]]:
    """Return, for each value among the arguments, where it came from.

    Each has ``argument`` (its path), ``from`` (``user``, ``outside``, ``conversation``, ``reference`` or
    ``model``), and of what was read also ``source``, ``trust`` and, of a row, its ``row``. What stands
    neither in the user's words nor in anything that was read is the model's; where such a text holds names
    that stand in what was read and not in the user's words, ``holds`` lists them, with their worst source.
    """
    referred = {each.argument: each for each in inv.provenance}
    found: list[dict[str, Json]] = []
    for path, value in _leaves("", inv.args):
        reference = referred.get(re.split(r"[.\[]", path, maxsplit=1)[0])
        if reference is not None:
            of = {"source": reference.source or reference.reference, "trust": reference.trust.label}
            found.append({"argument": path, "from": "reference", **of})
        else:
            found.append({"argument": path, **_origin(run, value)})
    return found


def _origin(run: Run, value: str) -> dict[str, Json]:
    pattern = re.compile(rf"(?<!\w){re.escape(value.casefold())}(?!\w)")
    if pattern.search(run.user_words.casefold()):
        return {"from": "user"}
    read = [row for row in run.rows if _is_source(row) and pattern.search(row.text.casefold())]
    if not read:
        return {"from": "model", **_held(run, value)}
    worst = max(reversed(read), key=lambda row: row.trust)
    kind = "conversation" if worst.trust is Trust.TRUSTED else "outside"
    return {"from": kind, **_where(worst)}


def _held(run: Run, value: str) -> dict[str, Json]:
    """Return which names in a text of the model stand in what was read from outside, if any do."""
    said = run.user_words.casefold()
    names = [
        name for name in dict.fromkeys(_NAMES.findall(value.casefold()[:LOOKED])[:NAMES]) if name not in said
    ]
    outside = [row for row in run.rows if _is_source(row) and row.trust is not Trust.TRUSTED]
    texts = [(row, row.text.casefold()) for row in outside] if names else []
    found = {name: [row for row, text in texts if name in text] for name in names}
    rows = [row for of_name in found.values() for row in of_name]
    if not rows:
        return {}
    held = [name for name, of_name in found.items() if of_name]
    return {"holds": list[Json](held), **_where(max(reversed(rows), key=lambda row: row.trust))}


def _where(row: Row) -> dict[str, Json]:
    return {"source": row.source or str(row.kind), "trust": row.trust.label, "row": row.seq}


def _is_source(row: Row) -> bool:
    return row.kind not in _OWN and (row.kind is not RowKind.NOTE or row.trust is not Trust.TRUSTED)


def _leaves(path: str, value: Json) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _leaves(f"{path}.{name}" if path else str(name), item)
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from _leaves(f"{path}[{place}]", item)
    elif isinstance(value, bool):
        yield path, "true" if value else "false"
    elif value is not None and str(value).strip():
        yield path, str(value).strip()
