"""Calls inside calls: what an action runs as a part of itself, with all that a model's own call goes through.

Loops, sub-agents and flows run other actions this way. Each inner call is judged, limited and journalled
under ``<key of the outer call>/<inner>``, so that the outer one can run again after a crash and gets what
had its result instead of running it twice.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from attrs import define, evolve, field
from sqlalchemy import select

from wakeful.loop.below import WAITS
from wakeful.loop.close import merged
from wakeful.loop.execute import execute
from wakeful.loop.found import FOUND
from wakeful.loop.live import Live
from wakeful.loop.plan import Planned, ask_people, planned_as
from wakeful.loop.recorded import invocation_of, load_raw
from wakeful.loop.references import filled, mentions, resolved, worsened
from wakeful.loop.services import Context
from wakeful.loop.writing import Writing
from wakeful.policy import Judged, judge_one
from wakeful.store.tables import action_call
from wakeful.tools.arguments import check_arguments
from wakeful.tools.offer import unknown_tool
from wakeful.types import (
    Action,
    ActionError,
    ActionResult,
    Called,
    Invocation,
    Json,
    Judgement,
    PersonAsked,
    Provenance,
    Referred,
    Run,
    Trust,
    Verdict,
    failure,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from wakeful.loop.close import Put, Work

#: Inner calls of a step that judges see beside the step's own calls: the newest ones. A loop may have
#: thousands, and each is judged; what must be counted over all of them belongs in a limit.
SEEN = 200
#: How deep calls may stand in each other: a loop in a sub-agent in a loop, and one more.
DEEPEST = 4

#: Inner calls that are read from the journal at once.
CHUNK = 500
#: Writes to plugins' state that an outer call collects before it keeps only the last of each name.
PUTS = 1_000

_UNDECIDED = frozenset({"held", "approved", "executing"})


@define(eq=False)
class Inner:
    """Runs the inner calls of the calls of one step.

    Args:
        live: the run.
        planned: the step's own calls, which judges see first.
        work: what the step has given so far.
    """

    live: Live
    planned: Sequence[Planned]
    work: Work
    _seen: deque[Invocation] = field(init=False, factory=lambda: deque(maxlen=SEEN))
    _given: dict[str, tuple[Provenance, ...]] = field(init=False, factory=dict)
    _writing: Writing = field(init=False)
    _on_disk: bool = field(init=False, default=False)

    def __attrs_post_init__(self) -> None:
        self._writing = Writing(self.live)

    async def call(
        self,
        outer: Invocation,
        puts: list[Put],
        name: str,
        args: Json,
        inner: int,
        provenance: Sequence[Provenance] | None,
    ) -> ActionResult:
        """Return the result of one inner call; see ``ActionContext.call``.

        Raises:
            StoreError: the journal cannot be written.
            FencedError: another process took the run over.
        """
        key = f"{outer.key}/{inner}"
        given = self.given(outer) if provenance is None else provenance
        sources = (*outer.provenance, *given)
        inv = Invocation(
            key, outer.call, outer.index, inner, name, args, provenance=sources, parent=outer.key
        )
        result = await self._outcome(inv, outer, puts)
        self._remember(outer, name, result.trust, result.source)
        return result

    def given(self, outer: Invocation) -> tuple[Provenance, ...]:
        """Return the least trusted of what a call was given as it ran; nothing if all of it is trusted."""
        return self._given.get(outer.key, ())

    async def _outcome(self, inv: Invocation, outer: Invocation, puts: list[Put]) -> ActionResult:
        self.work.nested.add(outer.key)
        known = await self._known(inv, puts) if self.work.resumed else None
        if isinstance(known, ActionResult):
            self._seen.append(inv)
            return known
        item = known or await self._plan(inv, outer, puts)
        if item.result is not None:
            return item.result
        return await self._run(item.invocation, puts)

    def _remember(self, outer: Invocation, name: str, trust: Trust | None, source: str) -> None:
        """Keep the least trusted of what a call was given: what follows may be made of it."""
        known = max((each.trust for each in self.given(outer)), default=Trust.TRUSTED)
        if trust is not None and trust > known:
            self._given[outer.key] = (Provenance("", name, trust, source),)

    async def called(self, outer: Invocation, of: str) -> AsyncIterator[Called]:
        """Yield the inner calls of the call with a key in their order, a few at a time from the journal."""
        await self.flush()
        a, last = action_call.c, -1
        query = (
            select(a.inner, a.action, a.args, a.result, a.result_ref)
            .where(a.run_id == self.live.run.id, a.parent == of)
            .order_by(a.inner)
            .limit(CHUNK)
        )
        while True:
            beyond = query.where(a.inner > last)
            rows = await self.live.store.read(lambda conn: conn.execute(beyond).mappings().all())  # noqa: B023  (awaited at once)
            for row in rows:
                result = await load_raw(self.live.store, dict(row))
                if result is not None:
                    self._remember(outer, row["action"], result.trust, result.source)
                yield Called(row["inner"], row["action"], json.loads(row["args"]), result)
            if len(rows) < CHUNK:
                return
            last = rows[-1]["inner"]

    async def refer(self, outer: Invocation, puts: Sequence[Put], reference: str) -> Referred:
        """Return what a reference stands for; see ``ActionContext.refer``.

        Raises:
            ActionError: it stands for nothing.
        """
        found = await resolved(self.live.agent, self._seen_with(puts), reference)
        if isinstance(found, ActionResult):
            error = ActionError(found.code, found.message, retryable=True)
            error.recovery = found.recovery or error.recovery
            # Whoever catches it may repeat what it quotes, so it counts as something that was given.
            self._remember(outer, reference, found.trust or Trust.TRUSTED, found.source)
            raise error
        self._remember(outer, reference, found.trust, found.source)
        return found

    def _seen_with(self, puts: Sequence[Put]) -> Run:
        """Return the run with what the calls inside a call have put."""
        return evolve(self.live.run, state=merged(self.live, puts)) if puts else self.live.run

    async def flush(self) -> None:
        """Wait until every result is stored."""
        await self._writing.flush()

    async def _plan(self, inv: Invocation, outer: Invocation, puts: Sequence[Put]) -> Planned:
        """Check and judge a call and store that it will be run, or why not."""
        live = self.live
        before = inv.provenance
        if mentions(inv.args):
            inv = await filled(live.agent, self._seen_with(puts), inv)
        if inv.provenance is not before:
            inv = evolve(inv, provenance=(*before, *inv.provenance))
        inv = self._checked(inv)
        earlier = [item.judged for item in self.planned if item.invocation.key != outer.key]
        agent = live.agent
        judged = await judge_one(
            agent.plugins,
            agent.reviewer,
            live.run if not _limited(agent.actions.get(inv.action)) else evolve(live.run, within=live.within),
            inv,
            agent.actions,
            earlier,
            tuple(self._seen),
        )
        self._seen.append(judged.invocation)
        item = planned_as(agent, judged)
        if item.result is None:
            live.within[inv.action] += 1
        if item.status == "held":
            async with live.store.transaction() as tx:
                (item,) = await ask_people(agent, tx, live.run, [item])
                now = live.clock.now()

                def write(conn: Connection) -> None:
                    live.journal.plan(conn, live.run, [item], now)
                    live.expires(conn, item.request)

                await tx.conclude(write)
            if item.request is not None:
                await live.emit(PersonAsked(live.run.id, item.request))
            return item
        # As in a step of its own; but once the step is on disk, a call that runs again is the same call.
        action = agent.actions[inv.action] if item.result is None else None
        durable = action is not None and action.changes and not (self._on_disk and action.reruns)
        self._on_disk = self._on_disk or durable
        await self._writing.intent(item.columns(live.run, live.clock.now()), durable=durable)
        return item

    def _checked(self, inv: Invocation) -> Invocation:
        """Return the call with its arguments checked, or with what refuses it."""
        if inv.refusal is not None:
            return inv
        actions = self.live.agent.offered
        action = actions.get(inv.action)
        if action is None:
            return evolve(inv, refusal=unknown_tool(inv.action, actions))
        if inv.key.count("/") > DEEPEST + 1:
            message = f"calls may stand in each other {DEEPEST} deep, and {action.name} would be deeper"
            return evolve(inv, refusal=failure("NESTED_TOO_DEEP", message))
        checked = check_arguments(action, inv.args)
        if isinstance(checked, ActionResult):
            return evolve(inv, refusal=checked)
        return evolve(inv, args=checked)

    async def _run(self, inv: Invocation, puts: list[Put]) -> ActionResult:
        """Execute a planned call; its result is stored with whatever is written next."""
        live = self.live
        action = live.agent.actions[inv.action]
        own: list[Put] = []
        services = live.agent.services.get(action.owner) or live.agent.services[""]
        ctx = Context(live.run, inv.key, services, action.owner, own, earlier=puts)
        ctx.bind(self, inv, live.emit)
        raw = await execute(action, inv.args, ctx, live.agent.middleware, live.redactor)
        result = live.redactor.result(worsened(inv.provenance, raw))
        if result.code == WAITS and action.owner == "kernel":
            return result  # stored already, so that the sub-agent's answer finds it
        _add(puts, own)
        await self._writing.result(inv.key, result, own)
        return result

    async def _known(self, inv: Invocation, puts: list[Put]) -> ActionResult | Planned | None:
        """Return what the journal has of a call that an earlier process may have made.

        Returns:
            Its result; or the call itself if it is to run again; or None if it was never made.
        """
        live = self.live
        query = select(action_call).where(action_call.c.key == inv.key)
        found = await live.store.read(lambda conn: conn.execute(query).mappings().first())
        if found is None:
            return None
        item = dict(found)
        raw = await load_raw(live.store, item)
        if item["status"] == "intended" and raw is None:
            live.within[inv.action] += 1
            again = Judged(invocation_of(item, {inv.call.id: inv.call}), Judgement(Verdict.ALLOW))
            return Planned(again, "intended")  # what must not run again has its result by now
        told = item["code"] in FOUND  # a person has said what became of it
        if item["status"] in _UNDECIDED and not told:
            return raw or failure("POLICY_APPROVAL_REQUIRED", f"{inv.action} waits for a person")
        if told or item["status"] in {"done", "unknown"}:
            live.within[inv.action] += 1
            _add(puts, [(put[0], put[1], put[2]) for put in json.loads(item["puts"])])
        return raw or failure("CANCELLED", "the call was cancelled before it finished")


def _limited(action: Action | None) -> bool:
    """Return whether it matters how often an action has run."""
    return action is not None and action.max_executions is not None


def _add(puts: list[Put], more: Sequence[Put]) -> None:
    """Add what a call put to what its outer call has; of many to one name, the last counts."""
    puts.extend(more)
    if len(puts) > PUTS:
        puts[:] = [(owner, key, value) for (owner, key), value in {put[:2]: put[2] for put in puts}.items()]
