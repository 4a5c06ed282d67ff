"""A turn: steps until the model answers, something ends the run, or it waits for a person."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable

from attrs import asdict, evolve

from wakeful.loop.act import Acted, act
from wakeful.loop.approved import stranded, void_requests
from wakeful.loop.ask import reply_to
from wakeful.loop.below import asked_below, waits_below
from wakeful.loop.close import merged
from wakeful.loop.ends import CANCELLED, Outcome, answered_by, text_of
from wakeful.loop.entries import Asked, Made
from wakeful.loop.late import carry_out, decided, drop, held
from wakeful.loop.live import Live, exceeded
from wakeful.loop.next import next_step, stepped
from wakeful.loop.prefix import settled
from wakeful.loop.untold import propose, word
from wakeful.results import artifacts, attached
from wakeful.types import (
    Answer,
    Ask,
    Call,
    FencedError,
    Final,
    Finish,
    ModelError,
    Notice,
    PluginError,
    PrefixBreak,
    Propose,
    Reply,
    ReplyReceived,
    Request,
    RunEnded,
    RunStatus,
    Stepped,
    StepStarted,
    Stop,
    StoreError,
    Wait,
    WakefulError,
)
from wakeful.waiting import outlast, settle, uncancel

log = logging.getLogger("wakeful")

#: Replies in a row that may be cut inside a call: the model is told and asked again once.
CUTS = 1


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
    finally:
        await _release(live)
    answer, _ = await outlast(_end(live, outcome))  # a run that has ended can no longer be cancelled
    return answer


async def _release(live: Live) -> None:
    """Let the agent's type give back what it holds for the run."""
    try:
        await outlast(live.agent.type.release(live.run.id))
    except Exception:
        log.exception("run %s: its agent type failed to give back what it held", live.run.id)


async def _steps(live: Live) -> Outcome:
    while True:
        try:
            decision = await next_step(live)
        except TimeoutError:
            return Outcome.limited(live.time_limit)
        if isinstance(decision, Wait):
            outcome: Outcome | None = await _waiting(live)
        elif isinstance(decision, Finish) and decision.text is None:
            outcome = _finished(live, decision)
        elif not isinstance(decision, Finish) and (limit := exceeded(live)):
            return Outcome.limited(limit)
        else:
            live.step()
            outcome = await _step(live, decision)
        if outcome is not None and not await _decided_meanwhile(live, outcome):
            return outcome


def _finished(live: Live, decision: Finish) -> Outcome:
    """Return how a run ends whose type says that it has."""
    if decision.error:
        return Outcome(RunStatus.FAILED, error=live.redactor.text(decision.error))
    return answered_by(live.last.reply) if live.last else Outcome(RunStatus.COMPLETED)


async def _waiting(live: Live) -> Outcome:
    """Return how a run ends for now whose type has nothing to do before a person decides."""
    if (await _pending(live))[0] or await decided(live) or await _answers_follow(live):
        return Outcome(RunStatus.COMPLETED, "Waiting for a person.")
    return Outcome(RunStatus.FAILED, error="the run waits for a decision that nobody was asked for")


async def _decided_meanwhile(live: Live, outcome: Outcome) -> bool:
    """Carry out what people decided while the run went on; True if there was something to tell the model."""
    if outcome.status is not RunStatus.COMPLETED or not await decided(live):
        return False
    await carry_out(live)
    live.last = None  # results have changed; what is stored counts
    return True


async def _step(live: Live, decision: Ask | Propose | Finish) -> Outcome | None:
    await live.emit(StepStarted(live.run.id, live.run.step))
    if not isinstance(decision, Ask):
        _, cancelled = await outlast(propose(live, decision))
        return await react(live, cancelled=cancelled)
    if decision.text or decision.parts:
        await word(live, decision)
    vain = Asked("step", live.clock.now(), "")
    try:
        request, reply, asked = await reply_to(live)
    except asyncio.CancelledError:
        if live.abandoned:
            raise
        await settle(live.journal.failed_step(live.run, vain, "cancelled", "cancelled", live.lost))
        raise
    except TimeoutError:
        await live.journal.failed_step(live.run, vain, "failed", live.time_limit, live.lost)
        return Outcome.limited(live.time_limit)
    except (ModelError, PluginError) as error:
        message = live.redactor.text(str(error))
        await live.journal.failed_step(live.run, vain, "failed", message, live.lost)
        raise
    _, cancelled = await outlast(_record(live, decision, request, reply, asked))
    return await react(live, cancelled=cancelled)


async def _record(live: Live, decision: Ask, request: Request, reply: Reply, asked: Asked) -> None:
    change = settled(live.agent, request, reply, live.run.previous)
    if change is not None:
        asked = evolve(asked, prompt={**asked.prompt, "change": asdict(change)})
    if request.sent is not None:
        request = evolve(request, sent=evolve(request.sent, tokens=live.sent))
    made = Made("model", decision.name or live.run.agent.model, decision.saved)
    live.append(await live.journal.reply(live.run, asked, request, reply, made))
    live.last = Stepped(reply)
    live.update(state=merged(live, made.puts))
    if request.keep is not None:
        live.update(kept=(*live.run.kept, request.keep))
    live.update(previous=request.sent or live.run.previous)
    await live.emit(ReplyReceived(live.run.id, live.run.step, reply))
    if change is not None:
        await live.emit(PrefixBreak(live.run.id, live.run.step, change))


async def react(live: Live, *, cancelled: bool) -> Outcome | None:
    """Carry out the calls of the recorded reply; return how the run ends, or None if it goes on."""
    last = live.last or Stepped(Reply(()))
    reply, direct = last.reply, last.proposed
    calls = [item for item in reply.items if isinstance(item, Call)]
    if not calls:
        if cancelled:
            raise asyncio.CancelledError
        return None
    cut = reply.stop is Stop.LENGTH
    live.cuts = live.cuts + 1 if cut else 0
    return after_calls(live, reply, await act(live, calls, cut=cut, cancelled=cancelled, direct=direct))


def after_calls(live: Live, reply: Reply, acted: Acted) -> Outcome | None:
    """Return how the run ends after a closed step; None if it goes on."""
    if acted.interrupted:
        return CANCELLED
    if acted.final is not None:
        return Outcome.ended_by(acted.final)
    if live.cuts > CUTS:
        error = "the output limit cut the reply inside a call, twice"
        return Outcome(RunStatus.FAILED, text_of(reply), error=f"malformed: {error}")
    live.last = stepped(
        reply, acted.planned, acted.work, proposed=live.last is not None and live.last.proposed
    )
    return None


async def _end(live: Live, outcome: Outcome) -> Answer:
    status, (pending, questions) = outcome.status, await _pending(live)
    # In this order: what was decided after the first look is seen by the second.
    if status is RunStatus.COMPLETED and (pending or await decided(live) or await _answers_follow(live)):
        status = RunStatus.AWAITING_FEEDBACK if questions else RunStatus.AWAITING_APPROVAL
    elif await decided(live):
        told = await drop(live, drafts=status is RunStatus.CANCELLED)
        outcome = evolve(outcome, error="; ".join(filter(None, (outcome.error, told))))
    run, final = live.run, outcome.final
    answer = Answer(
        text=live.redactor.text(outcome.text),
        status=status,
        run_id=run.id,
        conversation=run.conversation,
        usage=run.usage,
        artifacts=artifacts.named(run.rows, outcome.text),
        media=attached.named(run.rows, outcome.text),
        pending=() if status.ended else pending,
        error="; ".join(filter(None, (outcome.error, *_unmet(live, status)))),
    )
    if final is not None:
        answer = _with_disposition(answer, final)
    live.update(status=status)
    await live.journal.end(live.run, answer, live.ended)
    await void_requests(live)
    for failure in await live.agent.plugins.turn_ended(live.run, answer):
        await live.emit(Notice(failure.plugin, live.redactor.text(str(failure))))
    await live.emit(RunEnded(answer))
    return answer


async def _pending(live: Live) -> tuple[tuple[str, ...], bool]:
    """Return the requests that wait for people, those of sub-agents last; and whether all are questions."""
    own: list[str] = []
    kinds: set[str] = set()
    if live.agent.approvals is not None:
        try:
            requests = [each for each in await live.agent.approvals.pending(live.run.id) if each.holds]
            own, kinds = [each.id for each in requests], {each.kind for each in requests}
        except Exception as error:  # noqa: BLE001  (the run gets its end; the journal knows what it held)
            await live.note((PluginError(live.agent.slot("policy_approvals"), "policy_approvals", error),))
            own = await held(live)
    elif live.run.fence:  # it may have asked people before the plugin was off
        own = await held(live)
    asked: tuple[str, ...] = ()
    if live.agent.delegates:
        asked = await live.store.read(lambda conn: asked_below(conn, live.run.id))
    return (*own, *asked), kinds == {"question"} and not asked


async def _answers_follow(live: Live) -> bool:
    """Whether a sub-agent still has to answer that the model knows to be waiting, or a plugin to be back."""
    if await stranded(live):
        return True
    if not live.agent.delegates:
        return False
    return await live.store.read(lambda conn: waits_below(conn, live.run.id))


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
