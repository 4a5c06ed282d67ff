"""Telling the model what became of a held call: the row, and the end of the call, in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import update

from wakeful.loop.close import Put, finish, merged
from wakeful.loop.codec import dump_result
from wakeful.loop.found import FOUND
from wakeful.loop.live import Live
from wakeful.loop.statements import append_rows, close_nested, guard, save_state
from wakeful.loop.unknown import outcome_unknown
from wakeful.results import artifacts, attached
from wakeful.store.tables import action_call
from wakeful.types import (
    ActionEnded,
    ActionResult,
    ApprovalRequest,
    Invocation,
    PersonAsked,
    Row,
    RowKind,
    Text,
    Trust,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection


async def record(live: Live, inv: Invocation, raw: ActionResult | None, puts: list[Put], status: str) -> None:
    """Append the row that tells the outcome, unknown without a result, and end the call; one transaction."""
    request: ApprovalRequest | None = None
    async with live.store.transaction() as tx:
        if raw is None:
            raw, request = await outcome_unknown(live, tx, inv)
        success, code = raw.success, raw.code
        ended = await finish(live, tx, inv, raw, puts)
        row = _row(live, ended)

        def write(conn: Connection) -> tuple[Row, ...]:
            guard(conn, live.run)
            rows = append_rows(conn, live.run, [row], live.clock.now())
            values = {"status": status, "success": success, "code": code, "result_seq": rows[0].seq}
            values |= {"result": dump_result(raw)} if status in {"denied", "cancelled"} else {}
            conn.execute(update(action_call).where(action_call.c.key == inv.key).values(**values))
            close_nested(conn, live.run.id, [inv.key], rows[0].seq)
            attached.keep_all(conn, live.run.conversation, [ended.result])
            save_state(conn, live.run.conversation, puts)
            return rows

        rows = await tx.run(write)
    live.append(rows)
    live.update(state=merged(live, puts))
    await live.emit(ended)
    if request is not None:
        await live.emit(PersonAsked(live.run.id, request))


_TOLD = {"sub-agent-result": "The sub-agent answered", "person-answer": "A person answered"}


def _row(live: Live, ended: ActionEnded) -> Row:
    run, result = live.run, ended.result
    trust = result.trust or Trust.TRUSTED
    action = live.agent.actions.get(ended.invocation.action)
    kind = action.message_type if action else "action-result"
    what = _TOLD.get(kind, "A person decided about")
    what = "A person said what became of" if result.code in FOUND else what
    text = f"{what} the call {ended.invocation.key}:\n\n{ended.text}"
    meta = {"message_type": kind, "turn_added": run.turn, "actions": [ended.invocation.action]}
    meta |= artifacts.meta([result]) | attached.meta([result])
    source = result.source if trust else ""
    return Row(0, RowKind.LATE_RESULT, (Text("user", text),), run.id, run.turn, run.step, trust, source, meta)
