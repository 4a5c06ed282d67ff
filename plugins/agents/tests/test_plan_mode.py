"""Plan mode: nothing takes effect before a person has approved a plan, by whatever way."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wakeful
from plugins.agents.tests.effects import ALL, EFFECTS, did, prefix, run_turn
from tests.toys import Desk
from wakeful import Agent, hookimpl
from wakeful.cli.main import main
from wakeful.testing import ScriptedModel, say
from wakeful.types import RunStatus


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    did.clear()


def agent(*lines: Any, plugins: tuple[Any, ...] = (), **of: Any) -> Agent:
    return Agent(model=ScriptedModel(list(lines)), actions=ALL, plugins=["plan", *plugins], **of)


def test_effects_are_refused_and_reading_is_not() -> None:
    result = run_turn(agent(say(calls=[*EFFECTS, "look", "share"]), "Done."), "Go")
    codes = [call.result.code for call in result.calls]
    assert codes == ["PLAN_NOT_APPROVED"] * 4 + ["SUCCESS", "SUCCESS"]
    assert did == ["share "]
    assert "plan: awaiting" in result.requests[0].canonical()


def test_a_reference_does_not_get_around_it() -> None:
    result = run_turn(agent(say(calls=[("write", {"text": {"$from": "conversation[1]"}})]), "Done."), "Go")
    assert (result.calls[0].result.code, did) == ("PLAN_NOT_APPROVED", [])


class Through:
    """An offer that hides the actions behind one tool, as a multiplexer does."""

    name = "through"

    @hookimpl
    def tool_offer(self, agent: Any) -> Any:
        return self

    def open(self, actions: Any, agent: Any) -> Any:
        from wakeful.types import Offered, Tool

        return Offered((Tool("execute", "Run one.", {"type": "object"}),))

    def actions(self) -> Any:
        return ()

    def resolve(self, call: Any, catalogue: Any, decision: Any) -> Any:
        import json

        args = json.loads(call.args)
        return [(args["action"], args.get("args", {}))]


def test_an_offer_that_hides_actions_does_not_get_around_it() -> None:
    calls = [("execute", {"action": name}) for name in ("write", "web", "mail", "look")]
    result = run_turn(agent(say(calls=calls), "Done.", plugins=(Through(),)), "Go")
    assert [call.result.code for call in result.calls] == ["PLAN_NOT_APPROVED"] * 3 + ["SUCCESS"]
    assert did == []


async def test_sub_agents_do_not_get_around_it() -> None:
    below = Agent(model=ScriptedModel([say(calls=["mail", "look"]), "Below."]), name="below", actions=ALL)
    kid = Agent(
        model=ScriptedModel([say(calls=["write", ("delegate_to_below", {"message": "Go"})]), "Kid."]),
        name="kid",
        actions=ALL,
        sub_agents=[below],
    )
    top = agent(say(calls=[("delegate_to_kid", {"message": "Go"})]), "Done.", sub_agents=[kid], name="top")
    async with wakeful.open(top) as app:
        answer = await app.send("top", "Go")
    assert (answer.text, did) == ("Done.", [])


async def test_a_person_approves_through_the_approvals_plugin(tmp_path: Path) -> None:
    model = ScriptedModel(
        [say(calls=[("submit_plan", {"plan": "Write it."})]), "I wait.", say(calls=["write"]), "Written."]
    )
    subject = Agent(model=model, actions=ALL, plugins=["plan", Desk])
    async with wakeful.open(subject) as app:
        answer = await app.send("agent", "Go", conversation="c")
        assert answer.status is RunStatus.AWAITING_APPROVAL
        assert did == []
        await app.approvals.approve(answer.pending[0], by="ana")
        answer = await app.resume(answer.run_id)
    assert (answer.text, did) == ("Written.", ["write"])
    assert "plan: approved" in model.requests[-1].canonical()
    assert len({str(prefix(request)) for request in model.requests}) == 1


async def test_a_rejected_plan_changes_nothing() -> None:
    model = ScriptedModel(
        [say(calls=[("submit_plan", {"plan": "Write it."})]), "I wait.", say(calls=["write"]), "No."]
    )
    async with wakeful.open(Agent(model=model, actions=ALL, plugins=["plan", Desk])) as app:
        answer = await app.send("agent", "Go", conversation="c")
        await app.approvals.reject(answer.pending[0], by="ana")
        answer = await app.resume(answer.run_id)
    assert (answer.text, did) == ("No.", [])


FILE = """
[store]
url = "sqlite:///wakeful.db"
[agents.desk]
model = "replay:unused.jsonl"
plugins.enable = ["plan"]
approvers = ["ana"]
"""


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.chdir(tmp_path)

    def run(*args: str) -> tuple[int, str, str]:
        code = main(["plan", *args])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def test_a_plan_that_changed_since_it_was_seen_is_not_approved(tmp_path: Path, command: Any) -> None:
    (tmp_path / "wakeful.toml").write_text(FILE)
    store = f"sqlite:///{tmp_path / 'wakeful.db'}"

    def submit(text: str) -> None:
        lines = [say(calls=[("submit_plan", {"plan": text})]), "It waits."]
        run_turn(agent(*lines, name="desk", store=store), "Go", conversation="c")

    submit("Read it.")
    assert command("show", "c")[1] == f"Read it.\n\nplan: awaiting\nfingerprint: {of('Read it.')}\n"
    seen = json.loads(command("show", "c", "--json")[1])["fingerprint"]
    submit("Send it to everybody.")
    code, out, err = command("approve", "c", "--as", "ana", "--fingerprint", seen)
    assert (code != 0, out) == (True, "")
    now = of("Send it to everybody.")
    assert (
        f"the approval is void: the plan that waits now is {now}, not '{seen}'; nothing was approved" in err
    )
    assert "not ''; nothing" in command("approve", "c", "--as", "ana", "--fingerprint", "")[2]
    assert "plan: awaiting" in command("show", "c")[1]
    two = run_turn(agent(say(calls=["write"]), "Done.", name="desk", store=store), "On", conversation="c")
    assert (two.calls[0].result.code, did) == ("PLAN_NOT_APPROVED", [])
    approved = command("approve", "c", "--as", "ana", "--fingerprint", now.upper())
    assert approved == (0, f"Send it to everybody.\n\nplan: approved by ana\nfingerprint: {now}\n", "")
    assert "no plan waits" in command("approve", "c", "--as", "ana", "--fingerprint", now)[2]
    command("withdraw", "c", "--as", "ana")
    assert command("show", "c") == (0, "plan: none\n", "")


def test_a_person_approves_from_the_command_line(tmp_path: Path, command: Any) -> None:
    (tmp_path / "wakeful.toml").write_text(FILE)
    store = f"sqlite:///{tmp_path / 'wakeful.db'}"
    first = [say(calls=[("submit_plan", {"plan": "Write it."})]), "It waits."]
    one = run_turn(agent(*first, name="desk", store=store), "Go", conversation="c")
    assert one.calls[0].result.code == "SUCCESS_SUBMITTED"
    assert "plan: awaiting" in command("show", "c")[1]
    assert "'eve' is not one of the approvers: ana" in command("approve", "c", "--by", "eve")[2]
    approved = command("approve", "c", "--as", "ana")
    assert approved == (0, f"Write it.\n\nplan: approved by ana\nfingerprint: {of('Write it.')}\n", "")
    assert "no plan waits" in command("approve", "c", "--by", "ana")[2]
    two = run_turn(agent(say(calls=["write"]), "Done.", name="desk", store=store), "On", conversation="c")
    assert (two.calls[0].result.code, did) == ("SUCCESS", ["write"])
    assert prefix(two.requests[0]) == prefix(one.requests[0])
    assert "plan: none" in command("withdraw", "c", "--by", "ana")[1]
    assert "there is no conversation 'd'" in command("show", "d")[2]
    three = run_turn(agent(say(calls=["mail"]), "Done.", name="desk", store=store), "On", conversation="c")
    assert three.calls[0].result.code == "PLAN_NOT_APPROVED"
