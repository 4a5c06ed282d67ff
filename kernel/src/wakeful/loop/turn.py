"""A turn: steps until the model answers, something ends the run, or it waits for a person."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable

from attrs import asdict, evolve, frozen

from wakeful.loop.act import Acted, act
from wakeful.loop.ask import reply_to
from wakeful.loop.journal import Asked
from wakeful.loop.late import carry_out, decided
from wakeful.loop.live import Live, exceeded
from wakeful.loop.prefix import settled
from wakeful.results import artifacts
from wakeful.types import (
    Answer,
    Call,
    FencedError,
    Final,
    ModelError,
    Notice,
    PluginError,
    PrefixBreak,
    Reply,
    ReplyReceived,
    Request,
    RunEnded,
    RunStatus,
    StepStarted,
    Stop,
    StoreError,
    Text,
    WakefulError,
)
from wakeful.waiting import outlast, settle, uncancel

log = logging.getLogger("wakeful")

#: Replies in a row that may be cut inside a call: the model is told and asked again once.
CUTS = 1


@frozen
class Outcome:
    """How a run ends; None as an outcome means that it goes on."""

    status: RunStatus
    text: str = ""
    error: str = ""
    final: Final | None = None

    @classmethod
    def ended_by(cls, final: Final) -> Outcome:
        """Return how a run ends that an action's result ends."""
        return cls(RunStatus.COMPLETED, final.text, final=final)


#: How a run ends that somebody cancelled.
CANCELLED = Outcome(RunStatus.CANCELLED, "The run was cancelled.")


async def drive(live: Live, first: Callable[[Live], Awaitable[Outcome | None]]) -> Answer:
    """Run steps until the run ends or parks, store how, and tell the observers.

    Cancelling the task that runs this ends the run as cancelled, with a legal transcript.

    Args:
        live: the run.
        first: what comes before the first step: retrieving context, carrying out decisions, finishing a
            step that another process left. It may end the run.

    Raises:
        StoreError: the database can no longer be written.
        FencedError: another process took the run over.
        asyncio.CancelledError: the run was abandoned for another process to finish.
    """
    try:
        outcome = await first(live) or await _steps(live)
    except asyncio.CancelledError:
        if live.abandoned:
            raise
        uncancel()
        outcome = CANCELLED
    except ModelError as error:
        message = live.redactor.text(str(error))
        outcome = Outcome(RunStatus.FAILED, error=f"{error.kind}: {message}")
    except (StoreError, FencedError):
        raise
    except Exception as error:  # noqa: BLE001  (whatever a plugin raises, the run gets its end)
        log.warning("run %s failed\n%s", live.run.id, live.redactor.text(traceback.format_exc()))
        what = str(error) if isinstance(error, WakefulError) else f"{type(error).__name__}: {error}"
        outcome = Outcome(RunStatus.FAILED, error=live.redactor.text(what))
    answer, _ = await outlast(_end(live, outcome))  # a run that has ended can no longer be cancelled
    return answer


async def _steps(live: Live) -> Outcome:
    while True:
        limit = exceeded(live)
        if limit:
            return Outcome(RunStatus.LIMIT_REACHED, f"Stopped: {limit} was reached.", error=limit)
        live.update(step=live.run.step + 1)
        outcome = await _step(live)
        if outcome is not None and not await _decided_meanwhile(live, outcome):
            return outcome


async def _decided_meanwhile(live: Live, outcome: Outcome) -> bool:
    """Carry out what people decided while the run went on; True if there was something to tell the model."""
    if outcome.status is not RunStatus.COMPLETED or not await decided(live):
        return False
    await carry_out(live)
    return True


async def _step(live: Live) -> Outcome | None:
    await live.emit(StepStarted(live.run.id, live.run.step))
    vain = Asked("step", live.clock.now(), "")
    try:
        request, reply, asked = await reply_to(live)
    except asyncio.CancelledError:
        if live.abandoned:
            raise
        await settle(live.journal.failed_step(live.run, vain, "cancelled", "cancelled", live.lost))
        raise
    except TimeoutError:
        limit = f"the limit of {live.run.limits.seconds:g} seconds"
        await live.journal.failed_step(live.run, vain, "failed", limit, live.lost)
        return Outcome(RunStatus.LIMIT_REACHED, f"Stopped: {limit} was reached.", error=limit)
    except (ModelError, PluginError) as error:
        message = live.redactor.text(str(error))
        await live.journal.failed_step(live.run, vain, "failed", message, live.lost)
        raise
    _, cancelled = await outlast(_record(live, request, reply, asked))
    return await react(live, reply, cancelled=cancelled)


async def _record(live: Live, request: Request, reply: Reply, asked: Asked) -> None:
    change = settled(live.agent, request, reply, live.run.previous)
    if change is not None:
        asked = evolve(asked, prompt={**asked.prompt, "change": asdict(change)})
    if request.sent is not None:
        request = evolve(request, sent=evolve(request.sent, tokens=live.sent))
    rows = await live.journal.reply(live.run, asked, request, reply)
    live.append(rows)
    if request.keep is not None:
        live.update(kept=(*live.run.kept, request.keep))
    live.update(previous=request.sent or live.run.previous)
    await live.emit(ReplyReceived(live.run.id, live.run.step, reply))
    if change is not None:
        await live.emit(PrefixBreak(live.run.id, live.run.step, change))


async def react(live: Live, reply: Reply, *, cancelled: bool) -> Outcome | None:
    """Carry out the calls of a recorded reply, or end the run with its text."""
    calls = [item for item in reply.items if isinstance(item, Call)]
    if not calls:
        if cancelled:
            raise asyncio.CancelledError
        return without_calls(reply, _text(reply))
    cut = reply.stop is Stop.LENGTH
    live.cuts = live.cuts + 1 if cut else 0
    return after_calls(live, reply, await act(live, calls, cut=cut, cancelled=cancelled))


def after_calls(live: Live, reply: Reply, acted: Acted) -> Outcome | None:
    """Return how the run ends after a closed step; None if it goes on."""
    if acted.interrupted:
        return CANCELLED
    if acted.final is not None:
        return Outcome.ended_by(acted.final)
    if live.cuts > CUTS:
        error = "the output limit cut the reply inside a call, twice"
        return Outcome(RunStatus.FAILED, _text(reply), error=f"malformed: {error}")
    return None


def _text(reply: Reply) -> str:
    return "\n\n".join(item.text for item in reply.items if isinstance(item, Text))


def without_calls(reply: Reply, text: str) -> Outcome | None:
    """Return how a reply without calls ends the run; None if the model only paused."""
    if reply.stop is Stop.PAUSE:
        return None
    if reply.stop is Stop.REFUSED:
        return Outcome(RunStatus.FAILED, text, error="refused: the model refused to answer")
    cut = "the output limit cut the answer" if reply.stop is Stop.LENGTH else ""
    return Outcome(RunStatus.COMPLETED, text, error=cut)


async def _end(live: Live, outcome: Outcome) -> Answer:
    run, final = live.run, outcome.final
    status, pending = outcome.status, await _pending(live)
    # In this order: what was decided after the first look is seen by the second.
    if status is RunStatus.COMPLETED and (pending or await decided(live)):
        status = RunStatus.AWAITING_APPROVAL
    answer = Answer(
        text=live.redactor.text(outcome.text),
        status=status,
        run_id=run.id,
        conversation=run.conversation,
        usage=run.usage,
        artifacts=artifacts.named(run.rows, outcome.text),
        pending=pending,
        error="; ".join(filter(None, (outcome.error, *_unmet(live, status)))),
    )
    if final is not None:
        answer = _with_disposition(answer, final)
    live.update(status=status)
    await live.journal.end(live.run, answer)
    for failure in await live.agent.plugins.turn_ended(live.run, answer):
        await live.emit(Notice(failure.plugin, live.redactor.text(str(failure))))
    await live.emit(RunEnded(answer))
    return answer


async def _pending(live: Live) -> tuple[str, ...]:
    if live.agent.approvals is None:
        return ()
    return tuple(request.id for request in await live.agent.approvals.pending(live.run.id))


def _with_disposition(answer: Answer, final: Final) -> Answer:
    """Apply what a final result says; a pending approval always reaches the user."""
    if answer.pending:
        return answer
    return evolve(answer, disposition=final.disposition, reaction=final.reaction)


def _unmet(live: Live, status: RunStatus) -> list[str]:
    """Name the actions that had to run more often than they did, once the run is over."""
    if status is not RunStatus.COMPLETED:
        return []
    counts = Counter(name for name, _, _ in live.run.done) + live.within
    return [
        f"{name} ran {counts[name]} times and had to run {action.min_executions}"
        for name, action in sorted(live.agent.actions.items())
        if action.min_executions and counts[name] < action.min_executions
    ]
