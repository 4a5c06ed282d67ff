"""Sub-agents: what passes down, what comes up, and what is shared."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import func, select

import wakeful
from tests.toys import Desk
from wakeful import ActionContext, ActionResult, Agent, action, hookimpl
from wakeful.config import load_config
from wakeful.loop.transcript import load_rows
from wakeful.store.tables import action_call, run
from wakeful.testing import FakeClock, Gate, ScriptedModel, say
from wakeful.types import (
    Action,
    ConfigError,
    Disposition,
    Final,
    Invocation,
    Judgement,
    Limits,
    RowKind,
    Run,
    RunStatus,
    Trust,
    Verdict,
)


@action(effect="fetch")
async def web() -> ActionResult:
    """Read a page."""
    return ActionResult(outputs={"text": "from outside"}, source="https://example.org")


@action(effect="read", output_trust="trusted")
async def ping() -> str:
    """Ping."""
    return "pong"


@action(effect="write", output_trust="trusted")
async def pay(euros: int) -> str:
    """Pay."""
    return f"paid {euros}"


@action(effect="read", output_trust="trusted")
async def hush() -> ActionResult:
    """End quietly."""
    return ActionResult(final=Final("Quiet.", Disposition.SILENT_LOG))


def kid(*lines: Any, name: str = "kid", **of: Any) -> Agent:
    actions = of.pop("actions", [ping, web, pay, hush])
    return Agent(model=ScriptedModel(list(lines)), name=name, actions=actions, **of)


def ask(name: str = "kid", **args: Any) -> tuple[str, dict[str, Any]]:
    return f"delegate_to_{name}", {"message": "Look", **args}


def top(kids: Sequence[Agent], *lines: Any, **of: Any) -> Agent:
    return Agent(model=ScriptedModel(list(lines)), name="top", sub_agents=kids, **of)


async def result_of(app: wakeful.App, name: str = "kid") -> Any:
    query = select(action_call.c.code, action_call.c.success, action_call.c.result, action_call.c.status)
    query = query.where(action_call.c.action == f"delegate_to_{name}")
    return await app.store.read(lambda conn: conn.execute(query).first())


async def test_the_answer_comes_up_with_the_trust_of_what_was_seen() -> None:
    subject = top([kid(say(calls=["web"]), "Seen.", description="reads pages")], say(calls=[ask()]), "Done.")
    async with wakeful.open(subject) as app:
        tool = app.agents["top"].actions["delegate_to_kid"]
        assert "reads pages" in tool.description
        answer = await app.send("top", "Look it up", conversation="c", user="ana")
        rows = await app.store.read(lambda conn: load_rows(conn, "c"))
        (below,) = await app.store.read(
            lambda conn: conn.execute(select(run).where(run.c.parent_run.is_not(None))).mappings().all()
        )
        first = (await app.store.read(lambda conn: load_rows(conn, below["conversation_id"])))[0]
    (result,) = [row for row in rows if row.kind is RowKind.RESULT]
    assert (answer.text, below["parent_run"], below["parent_step"]) == ("Done.", answer.run_id, 1)
    assert (result.trust, result.source) == (Trust.UNTRUSTED, "sub-agent:kid")
    assert result.meta["message_type"] == "sub-agent-result"
    assert "Seen." in result.text
    assert (below["user"], below["agent"]) == ("ana", "kid")
    assert (first.kind, first.text, first.source) == (RowKind.NOTE, "Look", "agent:top")


class Watch:
    """Remembers the runs that were judged."""

    name = "watch"

    def __init__(self) -> None:
        self.runs: list[Run] = []

    @hookimpl
    def policy_verdict(
        self, run: Run, proposal: Invocation, action: Action, earlier: Sequence[Invocation]
    ) -> Judgement | None:
        self.runs.append(run)
        return None


async def test_taint_and_the_users_words_pass_down() -> None:
    watch = Watch()
    child = kid(say(calls=["ping"]), "Fine.", plugins=[watch])
    subject = top([child], say(calls=["web"]), say(calls=[ask()]), "Done.", actions=[web])
    async with wakeful.open(subject) as app:
        await app.send("top", "Write to sara@example.org")
    (seen,) = watch.runs
    assert seen.taint is Trust.UNTRUSTED
    assert seen.user_words == "Write to sara@example.org"
    assert seen.parent


async def test_a_disposition_does_not_come_up() -> None:
    subject = top([kid(say(calls=["hush"]))], say(calls=[ask()]), "Done.")
    async with wakeful.open(subject) as app:
        answer = await app.send("top", "Go")
        assert "Quiet." in (await result_of(app)).result
    assert (answer.text, answer.disposition) == ("Done.", Disposition.NOTIFY_USER)


async def test_limits_are_shared() -> None:
    usage = {"uncached": 40, "output": 10}
    forever = [say(calls=["ping"], usage=usage) for _ in range(20)]
    subject = top([kid(*forever)], say(calls=[ask()], usage=usage), "Never.", limits=Limits(steps=4))
    async with wakeful.open(subject) as app:
        answer = await app.send("top", "Go")
        result = await result_of(app)
    assert (answer.status, answer.error) == (RunStatus.LIMIT_REACHED, "the limit of 4 steps")
    assert result.code == "SUB_AGENT_LIMIT"
    assert "the limit of 4 steps of top" in result.result
    subject = top([kid(*forever)], say(calls=[ask()], usage=usage), "Never.", limits=Limits(tokens=220))
    async with wakeful.open(subject) as app:
        answer = await app.send("top", "Go")
    assert answer.error == "the limit of 220 tokens (250 used)"
    assert answer.usage.total == 50  # its own; the tree's is what counts for the limit


async def test_a_sub_agents_own_limit_ends_it_alone() -> None:
    forever = [say(calls=["ping"]) for _ in range(20)]
    subject = top([kid(*forever, limits=Limits(steps=2))], say(calls=[ask()]), "Went on.")
    async with wakeful.open(subject) as app:
        answer = await app.send("top", "Go")
        assert (await result_of(app)).code == "SUB_AGENT_LIMIT"
    assert answer.text == "Went on."


async def test_the_time_is_shared_too() -> None:
    gate, clock = Gate(), FakeClock()
    subject = top([kid(say("x", wait=gate))], say(calls=[ask()]), "Never.", limits=Limits(seconds=5))
    async with wakeful.open(subject, clock=clock) as app:
        task = asyncio.ensure_future(app.send("top", "Go"))
        await gate.reached()
        clock.advance(5.5)
        answer = await task
        ends = select(run.c.status, run.c.error).where(run.c.agent == "kid")
        below = await app.store.read(lambda conn: tuple(conn.execute(ends).one()))
    assert (answer.status, answer.error) == (RunStatus.LIMIT_REACHED, "the limit of 5 seconds")
    # Whichever of the two notices first: the run above, which cancels, or the run itself.
    assert below in {("cancelled", ""), ("limit_reached", "the limit of 5 seconds of top")}


async def test_depth_and_number_are_limited() -> None:
    deepest = kid("Deep.", name="deepest")
    deeper = kid(say(calls=[ask("deepest")]), "Deeper.", name="deeper", sub_agents=[deepest])
    subject = top([deeper], say(calls=[ask("deeper")]), "Done.", limits=Limits(depth=1))
    async with wakeful.open(subject) as app:
        await app.send("top", "Go")
        assert "the limit of sub-agents 1 deep of top" in (await result_of(app, "deepest")).result
    subject = top([kid("A.", "A.", "A.")], say(calls=[ask()] * 3), "Done.", limits=Limits(sub_agents=2))
    async with wakeful.open(subject) as app:
        await app.send("top", "Go")
        query = select(action_call.c.code).order_by(action_call.c.key)
        codes = await app.store.read(lambda conn: conn.execute(query).scalars().all())
    assert codes == ["SUCCESS", "SUCCESS", "SUB_AGENT_LIMIT"]


async def test_cancelling_passes_down() -> None:
    gate = Gate()
    subject = top([kid(say("x", wait=gate))], say(calls=[ask()]), "Never.")
    async with wakeful.open(subject) as app:
        task = asyncio.ensure_future(app.send("top", "Go", conversation="c"))
        await gate.reached()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        statuses = select(run.c.agent, run.c.status).order_by(run.c.agent)
        assert [tuple(row) for row in await app.store.read(lambda conn: conn.execute(statuses).all())] == [
            ("kid", "cancelled"),
            ("top", "cancelled"),
        ]


async def test_cancelling_a_sub_agent_leaves_the_run_above() -> None:
    gate = Gate()
    subject = top([kid(say("x", wait=gate))], say(calls=[ask()]), "Went on.")
    async with wakeful.open(subject) as app:
        task = asyncio.ensure_future(app.send("top", "Go", conversation="c"))
        await gate.reached()
        ids = select(run.c.id).where(run.c.agent == "kid")
        assert await app.cancel(await app.store.read(lambda conn: conn.execute(ids).scalar_one()))
        assert (await task).text == "Went on."
        assert (await result_of(app)).code == "SUB_AGENT_CANCELLED"


@action(effect="read", output_trust="trusted", idempotent=True)
async def hands_on(ctx: ActionContext) -> ActionResult:
    """Delegate as a part of what it does."""
    return await ctx.call("delegate_to_kid", {"message": "Look"}, inner=0)


@pytest.mark.parametrize("call", ["delegate_to_kid", "hands_on"])
async def test_a_sub_agent_that_waits_for_a_person(call: str) -> None:
    child = kid(say(calls=[("pay", {"euros": 100})]), "Held.", "Paid.", plugins=[Desk])
    calls = [ask() if call == "delegate_to_kid" else call, "ping"]
    subject = top([child], say(calls=calls), "I wait.", "All done.", actions=[ping, hands_on])
    async with wakeful.open(subject) as app:
        answer = await app.send("top", "Go", conversation="c")
        assert (answer.status, len(answer.pending)) == (RunStatus.AWAITING_APPROVAL, 1)
        assert (await result_of(app)).code == "SUB_AGENT_WAITS"
        await app.approvals.approve(answer.pending[0], by="ana")
        while (answer := await app.resume(answer.run_id)).status is RunStatus.AWAITING_APPROVAL:  # noqa: ASYNC110  (it is the turn that goes on)
            await asyncio.sleep(0.01)
        assert (answer.status, answer.text) == (RunStatus.COMPLETED, "All done.")
        rows = await app.store.read(lambda conn: load_rows(conn, "c"))
    (late,) = [row for row in rows if row.kind is RowKind.LATE_RESULT]
    assert late.text.startswith("The sub-agent answered")
    assert "Paid." in late.text


async def test_cancelling_a_run_ends_what_waits_below() -> None:
    child = kid(say(calls=[("pay", {"euros": 100})]), "Held.", "Paid.", plugins=[Desk])
    subject = top([child], say(calls=[ask()]), "I wait.")
    async with wakeful.open(subject) as app:
        answer = await app.send("top", "Go", conversation="c")
        assert await app.cancel(answer.run_id)
        assert (await app.resume(answer.run_id)).status is RunStatus.CANCELLED
        statuses = select(run.c.status).where(run.c.agent == "kid")
        while await app.store.read(lambda conn: conn.execute(statuses).scalar_one()) != "cancelled":  # noqa: ASYNC110  (it ends by itself)
            await asyncio.sleep(0.01)


class Below:
    """Forbids sub-agents to pay."""

    name = "below"

    @hookimpl
    def policy_below(self, run: Run, child: Run, proposal: Invocation, action: Action) -> Judgement | None:
        assert run.agent.name == "top"
        assert child.agent.name in {"kid", "deeper"}
        return Judgement(Verdict.DENY, "not below") if proposal.action == "pay" else None


async def test_judges_above_have_a_say_in_every_call_below() -> None:
    pays = say(calls=[("pay", {"euros": 1}), "ping"])
    deeper = kid(pays, "Deep.", name="deeper")
    child = kid(say(calls=[("pay", {"euros": 1}), ask("deeper")]), "Kid.", sub_agents=[deeper])
    subject = top(
        [child], say(calls=[("pay", {"euros": 1}), ask()]), "Done.", plugins=[Below()], actions=[pay]
    )
    async with wakeful.open(subject) as app:
        await app.send("top", "Go")
        query = select(action_call.c.action, action_call.c.code).where(
            action_call.c.action.in_(("pay", "ping"))
        )
        found = await app.store.read(lambda conn: sorted(tuple(row) for row in conn.execute(query)))
    assert found == [("pay", "POLICY_DENIED")] * 2 + [("pay", "SUCCESS"), ("ping", "SUCCESS")]


async def test_sub_agents_of_a_file(tmp_path: Any) -> None:
    text = '[agents.a]\nmodel = "scripted:x"\nsub_agents = ["{}"]\n[agents.b]\nmodel = "scripted:x"\n'
    (tmp_path / "wakeful.toml").write_text('[store]\nurl = "sqlite://"\n' + text.format("b"))
    assert load_config(tmp_path / "wakeful.toml").agents["a"].sub_agents == ("b",)
    (tmp_path / "wakeful.toml").write_text('[store]\nurl = "sqlite://"\n' + text.format("bb"))
    async with wakeful.open(tmp_path / "wakeful.toml", model=ScriptedModel(["x"])) as app:
        with pytest.raises(
            ConfigError, match=r"agents.a.sub_agents\[0\]: there is no agent 'bb'; did you mean 'b'"
        ):
            await app.send("a", "Go")


async def test_sub_agents_that_cannot_be_told_apart_are_named() -> None:
    subject = top([kid("x", name="a b"), kid("x", name="a_b")], "x")
    async with wakeful.open(subject) as app:
        with pytest.raises(ConfigError, match=r"top.sub_agents\[1\]: 'a b' and 'a_b' would both be called"):
            await app.send("top", "Go")


async def test_forgetting_a_conversation_forgets_those_of_its_sub_agents() -> None:
    deeper = kid("Deep.", name="deeper")
    child = kid(say(calls=[ask("deeper")]), "Kid.", sub_agents=[deeper])
    subject = top([child], say(calls=[ask()]), "Done.")
    async with wakeful.open(subject) as app:
        await app.send("top", "Go", conversation="c")
        await app.send("top", "Go", conversation="d")
        count = select(func.count(run.c.id))
        assert await app.store.read(lambda conn: conn.execute(count).scalar_one()) == 6
        assert await app.forget("c")
        assert await app.store.read(lambda conn: conn.execute(count).scalar_one()) == 3
