"""The statements behind the journal, built once; what several transactions share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve
from sqlalchemy import BindParameter, bindparam, delete, insert, or_, select, update

from wakeful.loop.codec import dump_items
from wakeful.store.prepared import Prepared
from wakeful.store.tables import (
    action_call,
    conversation,
    epoch,
    message,
    model_call,
    plugin_state,
    run,
    step,
)
from wakeful.store.work import work_item
from wakeful.types import FencedError, Json, Row, Run, Usage, canonical, clean

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

TAKE_SEQ = Prepared(
    update(conversation)
    .where(conversation.c.id == bindparam("id_"))
    .values(next_seq=conversation.c.next_seq + bindparam("count_"), updated_at=bindparam("at_"))
    .returning(conversation.c.next_seq - bindparam("count_"))
)
ADD_ROWS = Prepared(insert(message))
ADD_STEP = Prepared(insert(step))
ADD_CALL = Prepared(insert(model_call))
ADD_ACTION = Prepared(insert(action_call))
SET_STEP = Prepared(
    update(step)
    .where(step.c.run_id == bindparam("run_"), step.c.number == bindparam("number_"))
    .values(
        status=bindparam("status_"),
        output=bindparam("output_"),
        error=bindparam("error_"),
        ended_at=bindparam("at_"),
    )
)
_OWN_RUN = update(run).where(run.c.id == bindparam("run_"), run.c.fence == bindparam("fence_"))
_USED: dict[str, BindParameter[Any]] = {
    "tokens_read": bindparam("read_"),
    "tokens_write": bindparam("write_"),
    "tokens_uncached": bindparam("uncached_"),
    "tokens_output": bindparam("output_"),
    "tokens_reasoning": bindparam("reasoning_"),
    "tokens_write_1h": bindparam("write_1h_"),
    "reported": bindparam("reported_"),
    "cost": bindparam("cost_"),
}
SET_USAGE = Prepared(_OWN_RUN.values(_USED))
SET_STEP_AND_USAGE = Prepared(_OWN_RUN.values({"steps": bindparam("steps_"), **_USED}))
PLAN_STEP = Prepared(
    update(step)
    .where(step.c.run_id == bindparam("run_"), step.c.number == bindparam("number_"))
    .values(status="planned")
)
END_RUN = Prepared(
    update(run)
    .where(run.c.id == bindparam("run_"))
    .values(
        status=bindparam("status_"),
        disposition=bindparam("disposition_"),
        reaction=bindparam("reaction_"),
        text=bindparam("text_"),
        error=bindparam("error_"),
        ended_at=bindparam("at_"),
    )
)
#: Locks the row on PostgreSQL; on SQLite a transaction that writes has locked everything.
GUARD = Prepared(
    select(run.c.fence)
    .where(run.c.id == bindparam("run_"), run.c.fence == bindparam("fence_"))
    .with_for_update(key_share=True)
)
SET_RESULT = Prepared(
    update(action_call)
    .where(action_call.c.key == bindparam("key_"))
    .values(
        status=bindparam("status_"),
        success=bindparam("success_"),
        code=bindparam("code_"),
        result=bindparam("result_"),
        result_ref=bindparam("ref_"),
        puts=bindparam("puts_"),
        ended_at=bindparam("at_"),
    )
)
SET_SEQ = Prepared(
    update(action_call).where(action_call.c.key == bindparam("key_")).values(result_seq=bindparam("seq_"))
)
#: What was given up of a run is settled once that ends, or waits for a person.
SETTLE_LETTERS = Prepared(
    delete(work_item).where(
        work_item.c.key == bindparam("key_"),
        work_item.c.status == "failed",
        or_(work_item.c.payload == bindparam("run_"), work_item.c.payload == bindparam("cancel_")),
    )
)
SET_SENT = Prepared(
    update(epoch)
    .where(epoch.c.conversation_id == bindparam("conversation_"), epoch.c.agent == bindparam("agent_"))
    .where(epoch.c.id == bindparam("id_"))
    .values(sent=bindparam("sent_"))
)
_THIS_STATE = (
    plugin_state.c.conversation_id == bindparam("conversation_"),
    plugin_state.c.plugin == bindparam("plugin_"),
    plugin_state.c.key == bindparam("key_"),
)
SET_STATE = Prepared(update(plugin_state).where(*_THIS_STATE).values(value=bindparam("value_")))
ADD_STATE = Prepared(insert(plugin_state))


def usage_columns(usage: Usage) -> dict[str, Json]:
    """Return a usage as the columns that run, step and model_call share."""
    return {
        "tokens_read": usage.read,
        "tokens_write": usage.write,
        "tokens_uncached": usage.uncached,
        "tokens_output": usage.output,
        "tokens_reasoning": usage.reasoning,
        "tokens_write_1h": usage.write_1h,
        "reported": int(usage.reported),
        "cost": usage.cost,
    }


def guard(conn: Connection, run_: Run) -> None:
    """Make sure, first in a transaction, that the run is still this process's; also locks its row.

    Raises:
        FencedError: another process took it over.
    """
    if GUARD.first(conn, {"run_": run_.id, "fence_": run_.fence}) is None:
        raise _taken_over(run_)


def set_usage(conn: Connection, run_: Run, *, step: bool = True) -> None:
    """Store what a run has used; guards like :func:`guard`, and stands in its place.

    Args:
        conn: of the transaction.
        run_: the run.
        step: its step is stored with this. Otherwise it is still to come: a process that takes the run
            over begins it anew, under the same number.

    Raises:
        FencedError: another process took the run over.
    """
    values = {
        "run_": run_.id,
        "fence_": run_.fence,
        "read_": run_.usage.read,
        "write_": run_.usage.write,
        "uncached_": run_.usage.uncached,
        "output_": run_.usage.output,
        "reasoning_": run_.usage.reasoning,
        "write_1h_": run_.usage.write_1h,
        "reported_": int(run_.usage.reported),
        "cost_": run_.usage.cost,
    }
    statement = SET_STEP_AND_USAGE if step else SET_USAGE
    if statement.run(conn, values | {"steps_": run_.step} if step else values) != 1:
        raise _taken_over(run_)


def _taken_over(run_: Run) -> FencedError:
    return FencedError(f"run {run_.id} was taken over by another process")


def append_rows(conn: Connection, run_: Run, rows: Sequence[Row], now: datetime) -> tuple[Row, ...]:
    """Give ``rows`` their sequences and append them; returns them numbered."""
    if not rows:
        return ()
    (given,) = TAKE_SEQ.first(conn, {"id_": run_.conversation, "count_": len(rows), "at_": now})
    numbered = tuple(evolve(row, seq=given + place) for place, row in enumerate(rows))
    ADD_ROWS.run_each(
        conn,
        [
            {
                "conversation_id": run_.conversation,
                "seq": row.seq,
                "kind": row.kind.value,
                "items": dump_items(row.items),
                "run_id": row.run,
                "turn": row.turn,
                "step": row.step,
                "trust": int(row.trust),
                "source": row.source,
                "meta": canonical(clean(dict(row.meta))),
                "created_at": now,
            }
            for row in numbered
        ],
    )
    return numbered


def close_nested(conn: Connection, run_id: str, outer: Iterable[str], seq: int) -> None:
    """Give all calls inside a call the row of that, and end those that were cut off, as it closes."""
    for key in sorted(outer):
        inside = action_call.c.key.startswith(f"{key}/", autoescape=True)
        mine = (action_call.c.run_id == run_id) & action_call.c.parent.is_not(None) & inside
        conn.execute(update(action_call).where(mine).values(result_seq=seq))
        cut = update(action_call).where(mine, action_call.c.status == "intended")
        conn.execute(cut.values(status="cancelled", success=False, code="CANCELLED"))


def save_state(conn: Connection, conversation_id: str, puts: Sequence[tuple[str, str, Json]]) -> None:
    """Apply plugin-state writes in order; the last one to a key wins."""
    latest: Mapping[tuple[str, str], Json] = {(plugin, key): value for plugin, key, value in puts}
    for (plugin, key), value in latest.items():
        text = canonical(clean(value))
        where = {"conversation_": conversation_id, "plugin_": plugin, "key_": key}
        if SET_STATE.run(conn, where | {"value_": text}) == 0:
            values = {"conversation_id": conversation_id, "plugin": plugin, "key": key, "value": text}
            ADD_STATE.run(conn, values)
