"""The document that travels through a run, before and after each step, as the records keep it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from sqlalchemy import func, update

from wakeful.store.tables import step
from wakeful.types import PAYLOAD, Json, Run, canonical, clean

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: Key of the plugin state under which the document is kept.
HELD: Final = "held"


def record_documents(conn: Connection, run_: Run, puts: Iterable[tuple[str, str, Json]]) -> None:
    """Keep with a step that puts the document what it was before and is after; others pay nothing.

    Args:
        conn: the transaction that stores the step.
        run_: the run as it was before.
        puts: (plugin, key, value) that are stored with the step.
    """
    after = [value for plugin, key, value in puts if (plugin, key) == (PAYLOAD, HELD)]
    if not after:
        return
    before = run_.state.get(PAYLOAD, {}).get(HELD)
    if not isinstance(before, dict) or before.get("run") != run_.id:
        before = run_.options.get(PAYLOAD)
    changed = update(step).where(step.c.run_id == run_.id, step.c.number == run_.step)
    first = func.coalesce(step.c.payload_before, _spelled(before))  # what the step began with counts
    conn.execute(changed.values(payload_before=first, payload_after=_spelled(after[-1])))


def _spelled(kept: Json) -> str | None:
    if not isinstance(kept, dict) or "document" not in kept:
        return None
    return canonical(clean(kept["document"]))
