"""Going on with a run whose process ended: nothing finished is repeated, nothing told is lost."""

from __future__ import annotations

from wakeful.loop.act import finish_calls
from wakeful.loop.approved import stranded, take_rules
from wakeful.loop.ends import CANCELLED, STRANDED, Outcome
from wakeful.loop.late import carry_out, decided
from wakeful.loop.live import Live
from wakeful.loop.next import stepped
from wakeful.loop.recorded import Recorded, last_step
from wakeful.loop.turn import after_calls, react
from wakeful.loop.unknown import settle_lost
from wakeful.types import RowKind


async def recover(live: Live) -> Outcome | None:
    """Bring the last recorded step to its end; return how the run ends, or None if it goes on.

    * No reply was recorded: the model is asked again; a model call has no effects.
    * A reply without judged calls: they are judged now.
    * Judged calls: what has a result keeps it; a read, fetch or idempotent call runs again with the same
      key; any other comes back as ``OUTCOME_UNKNOWN``.
    * A closed step: what was decided meanwhile is carried out, and the model hears of it.
    """
    found = await last_step(live)
    if found is None:
        return None
    if found.status == "cancelled":
        return CANCELLED  # its process was about to say so
    live.last = stepped(found.reply, found.planned, found.work, proposed=found.proposed)
    if found.status == "replied":
        return await react(live, cancelled=False)
    if found.status == "planned":
        await take_rules(live)
        await _settle(live, found)
        acted = await finish_calls(live, found.planned, found.work)
        return after_calls(live, found.reply, acted)
    if await decided(live):
        await carry_out(live)
        live.last = None  # results have changed; what is stored counts
    if _news(live):
        return None
    if await stranded(live):
        return STRANDED
    finals = (result.final for result in found.work.results.values() if result.final)
    final = next(finals, None)
    return None if final is None else Outcome.ended_by(final)


async def give_up(live: Live) -> Outcome:
    """End a run as cancelled that another process left; every call of its last step gets a result first."""
    found = await last_step(live)
    if found is not None and found.status == "replied":
        live.last = stepped(found.reply, (), found.work, proposed=found.proposed)
        await react(live, cancelled=True)
    if found is not None and found.status == "planned":
        await _settle(live, found)
        found.work.started.update(item.invocation.key for item in found.planned)
        await finish_calls(live, found.planned, found.work, stopped=True)
    return CANCELLED


async def _settle(live: Live, found: Recorded) -> None:
    """Store the results of calls that nobody waits for any more."""
    for key in found.work.delivered:  # the answer of a sub-agent that came before the step was closed
        await live.journal.result(live.run, key, found.work.results[key])
    found.work.results.update(await settle_lost(live))


def _news(live: Live) -> bool:
    """Return whether the run has told the model something since its last reply that asks for another."""
    mine = [row.kind for row in live.run.rows if row.run == live.run.id]
    return mine[-1] is RowKind.LATE_RESULT
