"""Closing a step: stages, rendering and frozen rows, in call order, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import define, evolve, field

from wakeful.loop.live import Live
from wakeful.loop.outcomes import outcomes_of
from wakeful.loop.plain import plain
from wakeful.loop.plan import Planned, by_call
from wakeful.loop.services import Context
from wakeful.loop.statements import close_nested
from wakeful.results import apply_stages, artifacts, attached, inlined, nonce, render
from wakeful.types import (
    Action,
    ActionEnded,
    ActionResult,
    Final,
    Invocation,
    Json,
    PluginError,
    Result,
    Row,
    RowKind,
    Trust,
    Tx,
    failure,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

Put = tuple[str, str, Json]


@define(eq=False)
class Work:
    """What the executions of a step have given so far, by key.

    ``nested`` are the keys of those that made inner calls; ``resumed`` says that another process began;
    ``unwritten`` is the key whose result is stored when the step closes.
    """

    results: dict[str, ActionResult] = field(factory=dict)
    puts: dict[str, list[Put]] = field(factory=dict)
    started: set[str] = field(factory=set)
    unwritten: str = ""
    delivered: set[str] = field(factory=set)
    nested: set[str] = field(factory=set)
    resumed: bool = False


def context(live: Live, action: Action | None, key: str, puts: list[tuple[str, str, Json]]) -> Context:
    """Return the context of one execution, bound to the namespace of whoever declared the action."""
    owner = action.owner if action else ""
    services = live.agent.services.get(owner) or live.agent.services[""]
    return Context(live.run, key, services, owner, puts)


_UNFINISHED = {"CANCELLED": "the run was cancelled", "RUN_LIMIT": "the run's time limit was reached"}


def unfinished(code: str, *, started: bool) -> ActionResult:
    """Return the result of a call that was given up, or never begun, because its run ends."""
    rest = "before this call finished; it may have taken effect"
    if not started:
        rest = "before this call began; it was not executed"
    return failure(code, f"{_UNFINISHED[code]} {rest}")


async def close(live: Live, planned: Sequence[Planned], work: Work, interruption: str) -> Final | None:
    """Give every call of the step its row; return what ends the run, if anything.

    Args:
        live: the run.
        planned: the step's executions in call order.
        work: what they gave.
        interruption: the code for those that did not finish, or empty.
    """
    rows: list[Row] = []
    keys: list[list[str]] = []
    puts: list[Put] = []
    ended: list[ActionEnded] = []
    late = await unwritten(live, work)
    async with live.store.transaction() as tx:
        for group in by_call(planned).values():
            of_call = [await _finish(live, tx, item, work, interruption) for item in group]
            rows.append(result_row(live, group[0].invocation, of_call))
            keys.append([item.invocation.key for item in group])
            puts += [put for item in group for put in work.puts.get(item.invocation.key, ())]
            ended += of_call
        status = "cancelled" if interruption == "CANCELLED" else "closed"
        notices, live.notices = live.notices, []

        def conclude(conn: Connection) -> tuple[Row, ...]:
            if late is not None:
                live.journal.put_result(conn, live.run, *late)
            numbered = live.journal.close(conn, live.run, rows, keys, puts, status, notices)
            for row, of in zip(numbered, keys, strict=True):
                close_nested(conn, live.run.id, work.nested.intersection(of), row.seq)
            attached.keep_all(conn, live.run.conversation, (event.result for event in ended))
            return numbered

        numbered = await tx.conclude(conclude)
    live.append(numbered)
    live.update(
        outcomes=(*live.run.outcomes, *outcomes_of(planned, work)),
        state=merged(live, puts),
        within=dict(live.within),
    )
    for event in ended:
        await live.emit(event)
    return next((event.result.final for event in ended if event.result.final), None)


async def unwritten(live: Live, work: Work) -> tuple[dict[str, Json], list[str]] | None:
    """Return what :meth:`Journal.put_result` takes of the result that is not stored yet, if there is one."""
    key, work.unwritten = work.unwritten, ""
    if not key:
        return None
    return await live.journal.result_values(key, work.results[key], "done", work.puts.get(key, ()))


async def _finish(live: Live, tx: Tx, item: Planned, work: Work, interruption: str) -> ActionEnded:
    inv = item.invocation
    raw = item.result or work.results.get(inv.key)
    if raw is None:
        code = interruption or "CANCELLED"
        raw = unfinished(code, started=inv.key in work.started)
        await live.journal.unfinished(tx, inv.key, raw)
    return await finish(live, tx, inv, raw, work.puts.setdefault(inv.key, []))


async def finish(live: Live, tx: Tx, inv: Invocation, raw: ActionResult, puts: list[Put]) -> ActionEnded:
    """Run the stages over one result and render it."""
    action = live.agent.actions.get(inv.action)
    ctx = context(live, action, inv.key, puts)
    ctx.tx, ctx.envelope = tx, live.agent.envelope
    staged = await inlined(await apply_stages(live.agent.stages, ctx, action, raw), live.store.files)
    staged = await attached.attached(staged, live.store.files)
    name = action.name if action else inv.call.tool
    mark = nonce(live.run.secret, inv.key)
    try:
        staged, text = _rendered(live, name, staged, mark)
    except Exception as error:  # noqa: BLE001  (outside text that cannot be marked is not shown)
        slot = live.agent.slot("result_envelope")
        what = str(
            PluginError(slot, "result_envelope", type(error).__name__)
        )  # its text may quote the outside
        said = failure("ENVELOPE_FAILED", f"the call ran, but its result cannot be shown: {what}")
        text = render(name, said, live.agent.envelope, mark)
        staged = evolve(said, trust=staged.trust, source=staged.source)
    return ActionEnded(inv, staged, live.redactor.text(text))


def _rendered(live: Live, name: str, result: ActionResult, mark: str) -> tuple[ActionResult, str]:
    try:
        return result, render(name, result, live.agent.envelope, mark)
    except (TypeError, ValueError):
        made = plain(result)  # a stage may have put in what JSON has no word for
        return made, render(name, made, live.agent.envelope, mark)


def result_row(live: Live, first: Invocation, ended: Sequence[ActionEnded]) -> Row:
    """Return the row that answers one call, with the metadata that every result row carries."""
    action = live.agent.actions.get(first.action)
    worst = max((event.result.trust or Trust.TRUSTED for event in ended), default=Trust.TRUSTED)
    source = next((event.result.source for event in ended if worst and event.result.trust is worst), "")
    meta = {
        "message_type": action.message_type if action else "action-result",
        "turn_added": live.run.turn,
        "actions": [event.invocation.action for event in ended],
        **artifacts.meta(event.result for event in ended),
        **attached.meta(event.result for event in ended),
    }
    failed = not any(event.result.success for event in ended)
    items = (Result(first.call.id, "\n\n".join(event.text for event in ended), failed),)
    run = live.run
    return Row(0, RowKind.RESULT, items, run.id, run.turn, run.step, worst, source, meta)


def merged(live: Live, puts: Sequence[Put]) -> dict[str, dict[str, Json]]:
    """Return the plugin state of the run with ``puts`` applied."""
    state = {owner: dict(values) for owner, values in live.run.state.items()}
    for owner, key, value in puts:
        state.setdefault(owner, {})[key] = value
    return state
