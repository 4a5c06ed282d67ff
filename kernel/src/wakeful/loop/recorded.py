"""Reading a step back from its records, to go on where another process stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import frozen
from sqlalchemy import select

from wakeful.loop.close import Work
from wakeful.loop.codec import load_provenance, load_reply, load_result
from wakeful.loop.live import Live
from wakeful.loop.plan import Planned
from wakeful.policy import Judged
from wakeful.store.tables import action_call, model_call, step
from wakeful.types import (
    ActionResult,
    Call,
    Invocation,
    Json,
    Judgement,
    Reply,
    RowKind,
    Stop,
    Usage,
    Verdict,
)

if TYPE_CHECKING:
    from wakeful.store.engine import Store


@frozen
class Recorded:
    """The last step of a run as it was recorded: status, reply, judged calls and their results.

    ``proposed`` says that no model decided it.
    """

    status: str
    reply: Reply
    planned: tuple[Planned, ...]
    work: Work
    proposed: bool = False


async def last_step(live: Live) -> Recorded | None:
    """Return the last step that has a reply; None before the first one."""
    run_id, number = live.run.id, live.run.step
    steps = select(step.c.status).where(step.c.run_id == run_id, step.c.number == number)
    replies = (
        select(model_call)
        .where(model_call.c.run_id == run_id, model_call.c.step == number, model_call.c.kind == "step")
        .order_by(model_call.c.id.desc())
        .limit(1)
    )
    status = await live.store.read(lambda conn: conn.execute(steps).scalar())
    found = await live.store.read(lambda conn: conn.execute(replies).mappings().first())
    if status not in {"replied", "planned", "closed", "cancelled"}:
        return None
    reply = _proposed(live) if found is None else load_reply(found["reply"], found["stop"], Usage())
    if reply is None:
        return None
    calls = {item.id: item for item in reply.items if isinstance(item, Call)}
    planned, work = await _calls(live, number, calls)
    return Recorded(status, reply, tuple(planned), work, proposed=found is None)


def _proposed(live: Live) -> Reply | None:
    """Return what the last step proposed without a model, as it stands in the transcript."""
    run = live.run
    for row in reversed(run.rows):
        if row.run == run.id and row.step == run.step and row.kind is RowKind.ASSISTANT:
            return Reply(row.items, Usage(), Stop.CALLS if row.calls else Stop.END)
    return None


async def _calls(live: Live, number: int, calls: Mapping[str, Call]) -> tuple[list[Planned], Work]:
    query = (
        select(action_call)
        .where(action_call.c.run_id == live.run.id, action_call.c.step == number)
        .where(action_call.c.parent.is_(None))
        .order_by(action_call.c.index_, action_call.c.inner)
    )
    found = await live.store.read(lambda conn: conn.execute(query).mappings().all())
    planned: list[Planned] = []
    work = Work(resumed=True)
    nested = (
        select(action_call.c.parent)
        .where(action_call.c.run_id == live.run.id, action_call.c.step == number)
        .where(action_call.c.parent.is_not(None))
        .distinct()
    )
    work.nested.update(await live.store.read(lambda conn: conn.execute(nested).scalars().all()))
    for item in map(dict, found):
        inv = invocation_of(item, calls)
        raw = await load_raw(live.store, item)
        delivered = item["status"] == "executing" and item["result_seq"] is None  # a sub-agent's answer
        if (item["status"] == "done" or delivered) and raw is not None:
            if delivered:
                work.delivered.add(inv.key)
            work.results[inv.key] = raw
            work.puts[inv.key] = [(put[0], put[1], put[2]) for put in json.loads(item["puts"])]
            planned.append(Planned(_judged(inv, item), "intended"))
        elif item["status"] == "intended":
            planned.append(Planned(_judged(inv, item), "intended"))
        else:
            planned.append(Planned(_judged(inv, item), item["status"], raw))
    return planned, work


async def load_raw(store: Store, item: Mapping[str, Json]) -> ActionResult | None:
    """Return the stored result of a call, from the file store if it is long; None if there is none."""
    if item["result_ref"]:
        return load_result((await store.files.get(item["result_ref"])).decode())
    return load_result(item["result"]) if item["result"] else None


def invocation_of(item: Mapping[str, Json], calls: Mapping[str, Call]) -> Invocation:
    """Return the execution that a row of the journal is about; ``calls`` are those of the reply, by id."""
    call = calls.get(item["call_id"]) or Call(item["call_id"], item["tool"], item["args"])
    return Invocation(
        item["key"],
        call,
        item["index_"],
        item["inner"],
        item["action"],
        json.loads(item["args"]),
        provenance=load_provenance(item["provenance"]),
        parent=item["parent"] or "",
    )


def _judged(inv: Invocation, item: Mapping[str, Json]) -> Judged:
    return Judged(inv, Judgement(Verdict[item["verdict"].upper() or "ALLOW"]))
