"""Plan mode by every way that leads to an action; skills behind the multiplexer; flows with everything on."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from sqlalchemy import select

import wakeful
from plugins.agents.tests.effects import ALL, did, prefix, run_turn
from wakeful import Agent
from wakeful.store.tables import action_call
from wakeful.testing import ScriptedModel, TurnResult, say
from wakeful.types import RunStatus

HIDING = {"mode": "always", "backend": "tools", "pinned": ["look", "submit_plan", "load_skill", "for_each"]}
PLAN = say(calls=[("submit_plan", {"plan": "Write, fetch and send."})])
#: What must not happen before a person has approved the plan.
HARM = ("write", "web", "mail")


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    did.clear()


def execute(*names: str) -> tuple[str, Any]:
    actions = [{"action_name": name, "parameters": {}} for name in names]
    return "execute_discovered_action", {"actions": actions}


@frozen
class Way:
    """A way by which a model reaches actions: its calls, and what has to be there for it."""

    calls: list[Any]
    plugins: tuple[str, ...] = ()
    more: Callable[[Path], Mapping[str, Any]] = lambda _: {}


def _kid(name: str, *lines: Any, **of: Any) -> Agent:
    return Agent(model=ScriptedModel(list(lines)), name=name, actions=ALL, **of)


def _below(_: Path) -> Mapping[str, Any]:
    deepest = _kid("deepest", say(calls=[*HARM]), "Deepest.")
    return {
        "sub_agents": [
            _kid(
                "deep", say(calls=[("delegate_to_deepest", {"message": "Go"})]), "Deep.", sub_agents=[deepest]
            )
        ]
    }


def _hidden_below(_: Path) -> Mapping[str, Any]:
    settings = {"multiplexer": HIDING}
    return {
        "sub_agents": [
            _kid("deep", say(calls=[execute(*HARM)]), "Deep.", plugins=["multiplexer"], settings=settings)
        ]
    }


def _looping_below(_: Path) -> Mapping[str, Any]:
    calls = [("for_each", {"action": name, "items": [1]}) for name in HARM]
    return {"sub_agents": [_kid("deep", say(calls=calls), "Deep.", plugins=["loops"])]}


def _flowing_below(folder: Path) -> Mapping[str, Any]:
    steps = [
        f'[steps.{name}]\naction = "{name}"\non_error = "{then}"\nnext = "{then}"\n'
        for name, then in zip(HARM, (*HARM[1:], "each"), strict=True)
    ]
    each = '[steps.each]\nfor_each = "payload.list"\naction = "write"\noutput = { bad = "errors" }\n'
    (folder / "flow.toml").write_text(
        "payload = { list = [1, 2] }\n" + "".join(steps) + each, encoding="utf-8"
    )
    settings = {"flow": {"file": str(folder / "flow.toml")}}
    return {"sub_agents": [_kid("deep", type="flow", plugins=["flow"], settings=settings)]}


HARNESS = """
import json, sys
sys.stdin.readline()
print(json.dumps({"type": "step", "calls": [{"action": each} for each in sys.argv[1:]]}), flush=True)
sys.stdin.readline()
print(json.dumps({"type": "answer", "text": "Deep."}), flush=True)
"""


def _outside(_: Path) -> Mapping[str, Any]:
    settings = {"external": {"command": [sys.executable, "-c", HARNESS, *HARM]}}
    return {"sub_agents": [_kid("deep", type="external", plugins=["external"], settings=settings)]}


DELEGATE = [("delegate_to_deep", {"message": "Go"})]
WAYS = {
    "its own calls": Way([*HARM]),
    "the multiplexer": Way([execute(*HARM)], ("multiplexer",)),
    "references": Way([("write", {"text": {"$from": "conversation[1]"}}), "web", "mail"]),
    "for_each": Way([("for_each", {"action": name, "items": [1, 2]}) for name in HARM], ("loops",)),
    "for_each behind the multiplexer": Way(
        [("for_each", {"action": name, "items": [1, 2]}) for name in HARM], ("loops", "multiplexer")
    ),
    "a loop over what another action gives": Way(
        [("for_each", {"action": "look", "from_action": name}) for name in HARM], ("loops",)
    ),
    "sub-agents of sub-agents": Way(DELEGATE, more=_below),
    "the multiplexer of a sub-agent": Way(DELEGATE, more=_hidden_below),
    "for_each of a sub-agent": Way(DELEGATE, more=_looping_below),
    "a flow as a sub-agent": Way(DELEGATE, more=_flowing_below),
    "a harness as a sub-agent": Way(DELEGATE, more=_outside),
}


@pytest.mark.parametrize("name", WAYS)
async def test_plan_mode_holds_whatever_way_leads_to_an_action(name: str, tmp_path: Path) -> None:
    way = WAYS[name]
    lines: list[Any] = [say(calls=way.calls), PLAN, "I wait.", say(calls=way.calls), "It is done."]
    model = ScriptedModel(lines)
    subject = Agent(
        model=model,
        actions=ALL,
        plugins=["plan", "approvals", *way.plugins],
        settings={"multiplexer": HIDING} if "multiplexer" in way.plugins else {},
        approvers=["ana"],
        **way.more(tmp_path),
    )
    async with wakeful.open(subject) as app:
        answer = await app.send("agent", "I approve every plan, go", conversation="c")
        assert (answer.status, answer.error, did) == (RunStatus.AWAITING_APPROVAL, "", [])
        codes = select(action_call.c.code).where(action_call.c.action.in_(HARM))
        assert set(await app.store.read(lambda conn: conn.execute(codes).scalars().all())) == {
            "PLAN_NOT_APPROVED"
        }
        (request,) = await app.approvals.list()
        assert (request.action, request.args) == ("submit_plan", {"plan": "Write, fetch and send."})
        await app.approvals.approve(request.id, by="ana")
        answer = await app.resume(answer.run_id)
    assert (answer.status, answer.text, answer.error) == (RunStatus.COMPLETED, "It is done.", "")
    assert set(did) == set(HARM)
    assert len({json.dumps(prefix(request)) for request in model.requests}) == 1


async def test_words_approve_no_plan() -> None:
    words = "plan: approved. The plan is approved by ana. approve ask-1"
    lines: list[Any] = [PLAN, "I wait.", say(calls=[*HARM]), "No."]
    subject = Agent(model=ScriptedModel(lines), actions=ALL, plugins=["plan", "approvals"], approvers=["ana"])
    async with wakeful.open(subject) as app:
        await app.send("agent", "Go", conversation="c", user="ana")
        answer = await app.send("agent", words, conversation="c", user="ana")
    assert (answer.text, did) == ("No.", [])


def played(*lines: Any, plugins: tuple[Any, ...], **settings: Any) -> TurnResult:
    subject = Agent(
        model=ScriptedModel(list(lines)),
        actions=ALL,
        plugins=["multiplexer", *plugins],
        settings={"multiplexer": HIDING, **settings},
    )
    return run_turn(subject, "Go")


def codes(result: TurnResult) -> list[tuple[str, str]]:
    return [(call.invocation.action, call.result.code) for call in result.calls]


def same_prefix(result: TurnResult) -> bool:
    return len({json.dumps(prefix(request)) for request in result.requests}) == 1


def test_a_skill_unlocks_a_hidden_action_without_a_change_of_the_prefix(tmp_path: Path) -> None:
    folder = tmp_path / "post"
    folder.mkdir()
    head = "---\nname: post\ndescription: How to send.\nactions: [mail]\n---\nBe brief."
    (folder / "SKILL.md").write_text(head, encoding="utf-8")
    lines: list[Any] = [
        say(calls=[execute("mail")]),
        say(calls=[("load_skill", {"name": "post"})]),
        say(calls=[execute("mail")]),
        "Done.",
    ]
    result = played(*lines, plugins=("skills",), skills={"folders": [str(tmp_path)]})
    assert codes(result) == [("mail", "SKILL_LOCKED"), ("load_skill", "SUCCESS"), ("mail", "SUCCESS")]
    assert (did, same_prefix(result)) == (["mail"], True)


def test_a_flow_runs_with_everything_else_on(tmp_path: Path) -> None:
    (tmp_path / "flow.toml").write_text(
        'answer = "{payload.seen}"\n'
        '[steps.a]\naction = "look"\noutput = { seen = "outputs.result" }\nnext = "b"\n'
        '[steps.b]\naction = "write"\nargs = { text = "payload.seen" }\n',
        encoding="utf-8",
    )
    names = ("multiplexer", "spillover", "recovery", "lifecycle", "loops", "cache", "payload", "flow")
    subject = Agent(
        model=ScriptedModel([]),
        actions=ALL,
        plugins=names,
        settings={"multiplexer": HIDING},
        type="flow",
        folder=tmp_path,
    )
    result = run_turn(subject, "Go")
    assert (result.answer.text, result.answer.error, did) == ("seen", "", ["write"])
