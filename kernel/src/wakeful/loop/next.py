"""What a turn does next, as the agent's type decides; and the type that the kernel has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from wakeful.loop.below import WAITS
from wakeful.loop.close import Work
from wakeful.loop.live import Live
from wakeful.loop.plan import Planned
from wakeful.loop.recorded import last_step
from wakeful.types import (
    Action,
    AgentView,
    Ask,
    Did,
    Finish,
    Next,
    PluginError,
    Problem,
    Propose,
    Reply,
    RowKind,
    Run,
    Stepped,
    Stop,
    Verdict,
    Wait,
    WakefulError,
)
from wakeful.waiting import within


@frozen
class LoopType:
    """The model decides each step; a reply without calls is the answer."""

    name: str = "loop"

    def problems(self, agent: AgentView, actions: Mapping[str, Action]) -> Sequence[Problem]:  # noqa: ARG002  (the protocol)
        """Nothing can be wrong."""
        return ()

    def actions(self) -> Sequence[Action]:
        """Nothing of its own."""
        return ()

    async def next_step(self, run: Run, last: Stepped | None) -> Next:
        """Ask the model, until it answers and nothing has happened since."""
        if last is None or last.calls or last.reply.stop is Stop.PAUSE:
            return Ask()
        mine = [row.kind for row in run.rows if row.run == run.id]
        return Finish() if mine[-1] is RowKind.ASSISTANT else Ask()

    async def release(self, run_id: str) -> None:
        """Nothing is held."""


async def next_step(live: Live) -> Next:
    """Ask the agent's type what comes next.

    Raises:
        PluginError: it failed, or answered with something else.
        TimeoutError: the run's time is over.
    """
    kind, owner = live.agent.type, live.agent.type_owner
    if live.last is None and live.run.step:
        found = await last_step(live)
        if found is not None:
            live.last = stepped(found.reply, found.planned, found.work, proposed=found.proposed)
    try:
        left, work = live.remaining, kind.next_step(live.run, live.last)
        decided = await (work if left is None else within(live.clock, max(left, 0.0), work))
    except (WakefulError, TimeoutError):
        raise
    except Exception as error:
        raise PluginError(owner, "agent_types", error) from error
    if not isinstance(decided, Ask | Propose | Finish | Wait):
        what = f"expected Ask, Propose, Finish or Wait from {kind.name!r}, got a {type(decided).__name__}"
        raise PluginError(owner, "agent_types", what)
    if isinstance(decided, Propose) and not decided.calls:
        raise PluginError(owner, "agent_types", f"{kind.name!r} proposed a step without calls")
    return decided


def stepped(reply: Reply, planned: Sequence[Planned], work: Work, *, proposed: bool) -> Stepped:
    """Return a closed step as types are told of it."""
    did = []
    for item in planned:
        result = work.results.get(item.invocation.key) or item.result
        if result is not None:
            asked = item.status in {"held", "approved"}
            draft = asked and item.judged.judgement.verdict is Verdict.STAGE
            held = (asked and not draft) or result.code == WAITS
            did.append(Did(item.invocation, result, held, draft))
    return Stepped(reply, tuple(did), proposed)
