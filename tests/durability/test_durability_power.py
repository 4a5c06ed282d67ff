"""Which commits of a run wait for the disk on SQLite, as docs/explanation/durability.md has it."""

from __future__ import annotations

from typing import Any

from tests.toys import Desk
from wakeful import ActionContext, Agent, action
from wakeful.testing import ScriptedModel, say

#: What stands in a commit of each kind that must survive a power cut, and what the others have.
PLAN, DECISION, CLAIM = "INSERT INTO action_call", "status='approved'", "status='executing'"


@action(effect="read", output_trust="trusted")
async def look() -> str:
    """Look."""
    return "seen"


@action(effect="write", output_trust="trusted", idempotent=True)
async def note(text: str = "") -> str:
    """Note.

    Args:
        text: what.
    """
    return text


@action(effect="write", output_trust="trusted")
async def pay(euros: int) -> str:
    """Pay.

    Args:
        euros: how much.
    """
    return f"paid {euros}"


@action(effect="read", output_trust="trusted", idempotent=True)
async def note_all(ctx: ActionContext) -> str:
    """Look, and note several things."""
    await ctx.call("look", {}, inner=0)
    for place in (1, 2):
        await ctx.call("note", {"text": f"thing {place}"}, inner=place)
    return "noted"


class Commits:
    """What each transaction of a connection wrote, and whether its commit waited for the disk."""

    def __init__(self) -> None:
        self.level, self.statements = "", list[str]()
        self.full, self.others = list[str](), list[str]()

    def watch(self, conn: Any) -> None:
        """Watch a connection from now on."""
        conn.connection.dbapi_connection.set_trace_callback(self.saw)

    def saw(self, statement: str) -> None:
        if statement.startswith("PRAGMA synchronous"):
            self.level = statement.rpartition(" ")[2]
        elif statement == "COMMIT":
            (self.full if self.level == "FULL" else self.others).append("\n".join(self.statements))
            self.statements = []
        else:
            self.statements.append(statement)


async def commits(wakeful_app: Any, *replies: Any, approve: bool = False) -> Commits:
    seen = Commits()
    agent = Agent(model=ScriptedModel(list(replies)), actions=[look, note, pay, note_all], plugins=[Desk])
    async with wakeful_app(agent) as app:
        await app.store.write(seen.watch)
        answer = await app.send("agent", "Go", conversation="c")
        if approve:
            await app.approvals.approve(answer.pending[0], by="ana")
            await app.resume(answer.run_id)
    return seen


async def test_a_step_that_only_looks_waits_for_nothing(wakeful_app: Any) -> None:
    seen = await commits(wakeful_app, say(calls=[("look", {}), ("look", {})]), "Done.")
    assert seen.full == []
    assert sum(PLAN in each for each in seen.others) == 1


async def test_the_plan_of_a_step_that_changes_something_waits(wakeful_app: Any) -> None:
    steps = [say(calls=[("look", {}), (name, args)]) for name, args in (("pay", {"euros": 5}), ("note", {}))]
    seen = await commits(wakeful_app, *steps, "Done.")
    assert [PLAN in each for each in seen.full] == [True, True]
    assert not any(PLAN in each for each in seen.others)


async def test_of_changes_inside_a_call_the_first_waits(wakeful_app: Any) -> None:
    seen = await commits(wakeful_app, say(calls=[("note_all", {})]), "Done.")
    (first,) = seen.full
    assert "thing 1" in first
    assert [PLAN in each and "thing 2" in each for each in seen.others].count(True) == 1


async def test_a_decision_and_the_claim_on_what_was_approved_wait(wakeful_app: Any) -> None:
    held = say(calls=[("pay", {"euros": 100})])
    seen = await commits(wakeful_app, held, "I have asked.", "It is paid.", approve=True)
    assert [(DECISION in each, CLAIM in each) for each in seen.full] == [(True, False), (False, True)]
    assert not any(DECISION in each for each in seen.others)
