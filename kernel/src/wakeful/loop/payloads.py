"""The document that travels through a run, before and after each step, as the records keep it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sqlalchemy import func, update

from wakeful.store.tables import step
from wakeful.types import DOCUMENT, Json, Run, canonical, clean, handed_document, kept_document

if TYPE_CHECKING:
    from sqlalchemy import Connection


def record_documents(conn: Connection, run_: Run, puts: Iterable[tuple[str, str, Json]]) -> None:
    """Keep with a step that puts the document what it was before and is after; others pay nothing.

    Args:
        conn: the transaction that stores the step.
        run_: the run as it was before.
        puts: (plugin, key, value) that are stored with the step.
    """
    after = [(plugin, value) for plugin, key, value in puts if key == DOCUMENT]
    if not after:
        return
    plugin, last = after[-1]
    before = kept_document(run_, plugin) or handed_document(run_) or run_.options.get(plugin)
    changed = update(step).where(step.c.run_id == run_.id, step.c.number == run_.step)
    first = func.coalesce(step.c.payload_before, _spelled(before))  # what the step began with counts
    conn.execute(changed.values(payload_before=first, payload_after=_spelled(last)))


def _spelled(kept: object) -> str | None:
    if not isinstance(kept, Mapping) or "document" not in kept:
        return None
    return canonical(clean(kept["document"]))
