"""What people find out about interrupted calls is told to the model, once, wherever its run is by then."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from wakeful import Agent, action
from wakeful.store.verify import verify
from wakeful.testing import Database, Gate, ScriptedModel, say, shown
from wakeful.types import RunStatus

BOOK = ("book", {"room": "blue"})
BOTH = pytest.mark.parametrize("said", ["took_effect", "did_not"])
TOLD = {
    "took_effect": "ana found out that this call took effect",
    "did_not": "ana found out that this call did not take effect",
}


class Office:
    """An agent that books rooms once a person agrees; the first booking lasts until its process has ended."""

    def __init__(self, app: Any, store: Database) -> None:
        self.app, self.store = app, store
        self.gate, self.begun, self.run = Gate(), list[str](), ""

    def agent(self, *replies: Any, **more: Any) -> Agent:
        @action(effect="write", output_trust="trusted")
        async def book(room: str) -> str:
            """Book.

            Args:
                room: which.
            """
            self.begun.append(room)
            await self.gate.wait()
            return "booked"

        @action(effect="write", output_trust="trusted")
        async def mail() -> str:
            """Write a mail."""
            return "written"

        rules = [{"action": name, "verdict": "require_approval"} for name in ("book", "mail")]
        return Agent(
            model=ScriptedModel(list(replies)),
            actions=[book, mail],
            plugins=["policy", "approvals"],
            settings={"policy": {"rules": rules}},
            approvers=["ana"],
            **more,
        )

    async def interrupt(self, *calls: Any) -> None:
        """Let a process end in the middle of the first call, after it was approved."""
        async with self.app(self.agent(say(calls=list(calls)), "Asked.")) as app:
            parked = await app.send("agent", "Book", conversation="c", user="bob")
            await app.approvals.approve(parked.pending[0], by="ana")
            await self.gate.reached()
        self.run = parked.run_id

    def late(self) -> list[str]:
        """Return what late results say, in order."""
        rows = self.store.rows("select items from message where kind = 'late-result' order by seq")
        return [json.loads(row["items"])[0][2] for row in rows]


@pytest.fixture
def office(wakeful_app: Any, store: Database) -> Office:
    return Office(wakeful_app, store)


async def outcome(app: Any, said: str) -> None:
    """Answer the one request about an outcome."""
    (asked,) = [each for each in await app.approvals.list() if each.kind == "outcome"]
    await app.approvals.answer(asked.id, by="ana", answer=said)


def last_shown(subject: Agent) -> str:
    assert isinstance(subject.model, ScriptedModel)
    return shown(subject.model.requests[-1].items[-1])


@BOTH
async def test_the_next_turn_reads_it_behind_everything_that_was_sent_before(
    office: Office, said: str
) -> None:
    await office.interrupt(BOOK)
    desk = office.agent("I do not know.", "Now I do.", "Still.")
    async with office.app(desk) as app:
        assert (await app.resume(office.run)).status is RunStatus.COMPLETED
        await outcome(app, said)
        assert (await app.resume(office.run)).text == "I do not know."  # it has ended and stays as it is
        await app.send("agent", "And?", conversation="c", user="bob")
        await app.send("agent", "Sure?", conversation="c", user="bob")
        assert not await app.store.read(lambda conn: list(verify(conn)))
    unknown, told = office.late()
    assert "OUTCOME_UNKNOWN" in unknown
    assert told.startswith(f"A person said what became of the call {office.run}/1/0:")
    assert TOLD[said] in told
    assert isinstance(desk.model, ScriptedModel)
    first, second, third = (request.items for request in desk.model.requests)
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    assert [TOLD[said] in shown(item) for item in second[len(first) :]] == [False, True, False]
    assert office.begun == ["blue"]


@BOTH
async def test_a_run_that_still_goes_on_reads_it_before_it_ends(office: Office, said: str) -> None:
    await office.interrupt(BOOK)
    thinking = Gate()
    desk = office.agent(say("I do not know.", wait=thinking), "Now I do.")
    async with office.app(desk) as app:
        resumed = asyncio.create_task(app.resume(office.run))
        await thinking.reached()
        await outcome(app, said)
        thinking.open()
        answer = await resumed
        assert (answer.text, answer.status) == ("Now I do.", RunStatus.COMPLETED)
        await app.resume(office.run)
    assert TOLD[said] in last_shown(desk)
    assert len(office.late()) == 2


async def test_a_run_that_waits_for_something_else_reads_it_and_waits_on(office: Office) -> None:
    await office.interrupt(BOOK, "mail")
    desk = office.agent("I do not know.", "Good.", "All done.")
    async with office.app(desk) as app:
        parked = await app.resume(office.run)
        assert parked.status is RunStatus.AWAITING_APPROVAL
        await outcome(app, "took_effect")
        still = await app.resume(office.run)
        assert (still.text, still.status, still.pending) == ("Good.", parked.status, parked.pending)
        assert TOLD["took_effect"] in last_shown(desk)
        await app.approvals.approve(still.pending[0], by="ana")
        assert (await app.resume(office.run)).text == "All done."
    assert len(office.late()) == 3


async def test_a_run_that_was_cancelled_meanwhile_leaves_it_to_the_next_turn(office: Office) -> None:
    await office.interrupt(BOOK, "mail")
    desk = office.agent("I do not know.", "Now I do.")
    async with office.app(desk) as app:
        await app.resume(office.run)
        await app.cancel(office.run)
        assert (await app.resume(office.run)).status is RunStatus.CANCELLED
        await outcome(app, "took_effect")
        assert (await app.resume(office.run)).status is RunStatus.CANCELLED
        await app.send("agent", "And?", conversation="c", user="bob")
    assert TOLD["took_effect"] in office.late()[-1]
    assert sum(TOLD["took_effect"] in text for text in office.late()) == 1


async def test_what_was_said_survives_the_process_that_heard_it(office: Office) -> None:
    await office.interrupt(BOOK)
    async with office.app(office.agent("I do not know.")) as app:
        await app.resume(office.run)
        await outcome(app, "did_not")
    desk = office.agent("Now I do.")
    async with office.app(desk) as app:
        await app.resume(office.run)
        await app.send("agent", "And?", conversation="c", user="bob")
        await app.resume(office.run)
    assert sum(TOLD["did_not"] in text for text in office.late()) == 1
    assert isinstance(desk.model, ScriptedModel)
    assert sum(TOLD["did_not"] in shown(item) for item in desk.model.requests[-1].items) == 1


async def test_a_call_that_had_no_effect_may_be_made_again(office: Office) -> None:
    await office.interrupt(BOOK)
    office.gate.open()
    async with office.app(office.agent("I do not know.", say(calls=[BOOK]), "Asked.", "Booked.")) as app:
        await app.resume(office.run)
        await outcome(app, "did_not")
        await app.resume(office.run)
        parked = await app.send("agent", "Again", conversation="c", user="bob")
        await app.approvals.approve(parked.pending[0], by="ana")
        assert (await app.resume(parked.run_id)).text == "Booked."
    assert office.begun == ["blue", "blue"]
    assert "booked" in office.late()[-1]
