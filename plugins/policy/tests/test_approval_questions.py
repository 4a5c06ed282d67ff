"""Questions to people, and calls whose outcome only people can find out."""

from __future__ import annotations

from typing import Any

import pytest

from wakeful import ActionContext, ActionResult, Agent, action
from wakeful.testing import Database, Gate, ScriptedModel, say, shown
from wakeful.types import ConfigError, Json, NotFoundError, RunStatus


def agent(*replies: Any, actions: Any = (), **options: Any) -> Agent:
    return Agent(
        model=ScriptedModel(list(replies)),
        actions=actions,
        plugins=["policy", "approvals"],
        **{"approvers": ["ana"], **options},
    )


def told(subject: Agent) -> str:
    """Return the last thing that the agent's model was shown."""
    assert isinstance(subject.model, ScriptedModel)
    return shown(subject.model.requests[-1].items[-1])


def asks(**args: Json) -> Any:
    return say(calls=[("ask_person", {"question": "Which account?", **args})])


async def test_a_question_parks_the_run_until_the_asking_user_answers(wakeful_app: Any) -> None:
    desk = agent(asks(), "I have asked.", "Account 7, then.", approvers=())
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Pay", user="bob")
        assert parked.status is RunStatus.AWAITING_FEEDBACK
        (question,) = await app.approvals.list()
        assert (question.kind, question.args["question"]) == ("question", "Which account?")
        with pytest.raises(NotFoundError):
            await app.approvals.answer(question.id, by="eve", answer="mine")
        with pytest.raises(NotFoundError):
            await app.approvals.approve(question.id, by="bob")
        await app.approvals.answer(question.id, by="bob", answer="account 7")
        answer = await app.resume(parked.run_id)
        assert (answer.text, answer.status) == ("Account 7, then.", RunStatus.COMPLETED)
        with pytest.raises(NotFoundError):
            await app.approvals.answer(question.id, by="bob", answer="account 8")
    assert "A person answered the call" in told(desk)
    assert "account 7" in told(desk)


@pytest.mark.parametrize(
    ("asked", "wrong", "right"),
    [
        ({"options": ["red", "blue"]}, "green", "blue"),
        ({"schema": {"type": "integer", "minimum": 1}}, "many", 3),
        ({}, "", "anything"),
    ],
    ids=["options", "schema", "text"],
)
async def test_an_answer_is_what_was_asked_for(
    wakeful_app: Any, asked: dict[str, Json], wrong: Json, right: Json
) -> None:
    desk = agent(asks(**asked), "Asked.", "Good.")
    async with wakeful_app(desk) as app:
        parked = await app.send("agent", "Go")
        with pytest.raises(ConfigError, match="answer"):
            await app.approvals.answer(parked.pending[0], by="ana", answer=wrong)
        await app.approvals.answer(parked.pending[0], by="ana", answer=right)
        assert (await app.resume(parked.run_id)).text == "Good."
    assert str(right) in told(desk)


async def test_an_answer_survives_the_process_that_took_it(wakeful_app: Any) -> None:
    async with wakeful_app(agent(asks(), "Asked.")) as app:
        parked = await app.send("agent", "Go")
    async with wakeful_app(agent("Good.")) as app:
        await app.approvals.answer(parked.pending[0], by="ana", answer="blue")
    desk = agent("Good.")
    async with wakeful_app(desk) as app:
        assert (await app.resume(parked.run_id)).text == "Good."


async def test_a_schema_that_is_none_fails_the_question(wakeful_app: Any) -> None:
    desk = agent(asks(schema={"type": "nonsense"}), "I cannot ask.")
    async with wakeful_app(desk) as app:
        assert (await app.send("agent", "Go")).status is RunStatus.COMPLETED
    assert "POLICY_DENIED" in told(desk)


async def test_people_are_asked_what_became_of_an_interrupted_call(wakeful_app: Any, store: Database) -> None:
    gate, begun = Gate(), list[str]()

    @action(effect="write", output_trust="trusted")
    async def book(room: str) -> str:
        """Book.

        Args:
            room: which.
        """
        begun.append(room)
        await gate.wait()
        return "booked"

    rules = {"policy": {"rules": [{"action": "book", "verdict": "require_approval"}]}}
    first = agent(say(calls=[("book", {"room": "blue"})]), "Asked.", actions=[book], settings=rules)
    async with wakeful_app(first) as app:
        parked = await app.send("agent", "Book", conversation="c", user="bob")
        await app.approvals.approve(parked.pending[0], by="ana")
        await gate.reached()  # the run is taken up, and this process ends
    second = agent("I do not know.", actions=[book], settings=rules)
    async with wakeful_app(second) as app:
        answer = await app.resume(parked.run_id)
        assert (answer.status, answer.pending) == (RunStatus.COMPLETED, ())
        (asked,) = await app.approvals.list()
        assert (asked.kind, asked.action, asked.args) == ("outcome", "book", {"room": "blue"})
        for settle in (app.approvals.approve, app.approvals.reject):
            with pytest.raises(NotFoundError):
                await settle(asked.id, by="ana")
        with pytest.raises(ConfigError):
            await app.approvals.answer(asked.id, by="ana", answer="perhaps")
        await app.approvals.answer(asked.id, by="ana", answer="took_effect")
        assert await app.approvals.list() == ()
    assert begun == ["blue"]
    assert "a person is asked whether it did" in told(second)
    assert store.rows("select status, answer from approvals_request where kind = 'outcome'") == [
        {"status": "answered", "answer": '"took_effect"'}
    ]


@pytest.mark.parametrize("through", ["call", "sub-agent"])
async def test_people_are_asked_about_an_interrupted_call_inside_another(
    wakeful_app: Any, store: Database, through: str
) -> None:
    gate, begun = Gate(), list[str]()

    @action(effect="write", output_trust="trusted")
    async def book(room: str) -> str:
        """Book."""
        begun.append(room)
        await gate.wait()
        return "booked"

    @action(effect="read", output_trust="trusted")
    async def trip(ctx: ActionContext) -> ActionResult:
        """Plan a trip."""
        inner = await ctx.call("book", {"room": "blue"}, inner=0)
        return ActionResult(message=f"{inner.code} {inner.message}")

    outer = "trip" if through == "call" else "delegate_to_kid"
    args = {} if through == "call" else {"message": "Book."}
    rules = {"policy": {"rules": [{"action": outer, "verdict": "require_approval"}]}}

    def desk(*replies: Any, below: Any = ("So.",)) -> Agent:
        kid = Agent(
            name="kid",
            model=ScriptedModel(list(below)),
            actions=[book],
            plugins=["policy", "approvals"],
            settings={"policy": {"rules": [{"action": "book", "verdict": "allow"}]}},
            approvers=["ana"],
        )
        allowed = [*rules["policy"]["rules"], {"action": "book", "verdict": "allow"}]
        subs = [kid] if through == "sub-agent" else []
        settings = {"policy": {"rules": allowed}}
        return agent(*replies, actions=[book, trip], settings=settings, sub_agents=subs)

    booking = say(calls=[("book", {"room": "blue"})])
    async with wakeful_app(desk(say(calls=[(outer, args)]), "Asked.", below=(booking,))) as app:
        parked = await app.send("agent", "Go", conversation="c", user="bob")
        await app.approvals.approve(parked.pending[0], by="ana")
        await gate.reached()  # the process ends while the room is booked
    async with wakeful_app(desk("I do not know.")) as app:
        answer = await app.resume(parked.run_id)
        assert answer.status is RunStatus.COMPLETED
        (asked,) = await app.approvals.list()
        assert (asked.kind, asked.action, asked.args) == ("outcome", "book", {"room": "blue"})
        query = "select status, code from action_call where action = 'book'"
        assert store.rows(query) == [{"status": "unknown", "code": "OUTCOME_UNKNOWN"}]
        await app.approvals.answer(asked.id, by="ana", answer="did_not")
        await app.resume(asked.run)
        assert store.rows(query) == [{"status": "done", "code": "OUTCOME_NO_EFFECT"}]
    assert begun == ["blue"]
