"""Looking at what the database holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import asdict, frozen
from sqlalchemy import Connection, select

from wakeful.store.tables import action_call, run
from wakeful.store.work import inbox, work_item

_BEGUN = ("intended", "executing")
ENDED = ("completed", "failed", "cancelled", "limit_reached")


@frozen
class Look:
    """Where the run is.

    Args:
        run: its id; empty before the input is stored.
        status: of the run; empty before it begins.
        pending: the request that waits for a person; empty if none does.
        done: keys of the calls whose results are stored.
        open: keys of the calls that may have begun and have no result.
    """

    run: str
    status: str
    pending: str
    done: list[str]
    open: list[str]

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self.status in ENDED


def look(conn: Connection) -> dict[str, Any]:
    """Return a :class:`Look` as JSON."""
    run_id = conn.execute(select(inbox.c.run_id)).scalar() or ""
    status = conn.execute(select(run.c.status).where(run.c.id == run_id)).scalar() or ""
    calls = [dict(call) for call in conn.execute(select(action_call)).mappings()]
    held = [call["approval_id"] for call in calls if call["status"] == "held" and call["approval_id"]]
    done = [call["key"] for call in calls if call["status"] == "done" or _known(call)]
    going = [call["key"] for call in calls if call["status"] in _BEGUN and not _known(call)]
    return asdict(Look(run_id, status, held[0] if held else "", done, going))


def _known(call: Mapping[str, Any]) -> bool:
    """Return whether an approved call that was carried out has its result, which nobody has told yet."""
    return call["status"] == "executing" and (call["result"] or call["result_ref"]) is not None


def idle(conn: Connection) -> bool:
    """Return whether nothing is left to do without a person."""
    waiting = select(work_item.c.id).where(work_item.c.status.in_(("queued", "running", "cancelling")))
    waiting = waiting.where(work_item.c.kind != "expire")  # due in weeks
    return conn.execute(waiting).first() is None
