"""Plan mode and skills behind the multiplexer; a payload in flows with everything else on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import evolve

from tests.toys import Desk
from wakeful import Agent, action
from wakeful.testing import ScriptedModel, TurnResult, run_turn, say

HIDING = {"mode": "always", "backend": "tools"}
did: list[str] = []


@action(effect="read", output_trust="trusted")
async def look() -> str:
    """Look."""
    return "seen"


@action(effect="write", output_trust="trusted")
async def write(text: str = "") -> str:
    """Write."""
    did.append("write")
    return text


@action(effect="external", output_trust="trusted")
async def mail() -> str:
    """Send."""
    did.append("mail")
    return "sent"


def execute(*names: str) -> tuple[str, Any]:
    actions = [{"action_name": name, "parameters": {}} for name in names]
    return "execute_discovered_action", {"actions": actions}


def played(*lines: Any, plugins: tuple[Any, ...], **settings: Any) -> TurnResult:
    did.clear()
    model = ScriptedModel(list(lines))
    subject = Agent(
        model=model,
        actions=[look, write, mail],
        plugins=["multiplexer", *plugins],
        settings={"multiplexer": {**HIDING, "pinned": ["submit_plan", "load_skill"]}, **settings},
    )
    return evolve(run_turn(subject, "Go"), requests=tuple(model.requests))


def codes(result: TurnResult) -> list[tuple[str, str]]:
    return [(call.invocation.action, call.result.code) for call in result.calls]


def same_prefix(result: TurnResult) -> bool:
    first = result.requests[0]
    return all((each.tools, each.system) == (first.tools, first.system) for each in result.requests)


def test_plan_mode_holds_behind_the_multiplexer() -> None:
    result = played(say(calls=[execute("write", "mail", "look")]), "Done.", plugins=("plan", Desk))
    assert codes(result) == [
        ("write", "PLAN_NOT_APPROVED"),
        ("mail", "PLAN_NOT_APPROVED"),
        ("look", "SUCCESS"),
    ]
    assert (did, same_prefix(result)) == ([], True)


def test_a_skill_unlocks_a_hidden_action_without_a_change_of_the_prefix(tmp_path: Path) -> None:
    folder = tmp_path / "post"
    folder.mkdir()
    head = "---\nname: post\ndescription: How to send.\nactions: [mail]\n---\nBe brief."
    (folder / "SKILL.md").write_text(head, encoding="utf-8")
    lines = [
        say(calls=[execute("mail")]),
        say(calls=[("load_skill", {"name": "post"})]),
        say(calls=[execute("mail")]),
        "Done.",
    ]
    result = played(*lines, plugins=("skills",), skills={"folders": [str(tmp_path)]})
    assert codes(result) == [("mail", "SKILL_LOCKED"), ("load_skill", "SUCCESS"), ("mail", "SUCCESS")]
    assert (did, same_prefix(result)) == (["mail"], True)


def test_a_flow_runs_with_everything_else_on(tmp_path: Path) -> None:
    did.clear()
    (tmp_path / "flow.toml").write_text(
        'answer = "{payload.seen}"\n'
        '[steps.a]\naction = "look"\noutput = { seen = "outputs.result" }\nnext = "b"\n'
        '[steps.b]\naction = "write"\nargs = { text = "payload.seen" }\n',
        encoding="utf-8",
    )
    names = ("multiplexer", "spillover", "recovery", "lifecycle", "loops", "cache", "payload", "flow")
    subject = Agent(
        model=ScriptedModel([]),
        actions=[look, write, mail],
        plugins=names,
        settings={"multiplexer": HIDING},
        type="flow",
        folder=tmp_path,
    )
    result = run_turn(subject, "Go")
    assert (result.answer.text, result.answer.error, did) == ("seen", "", ["write"])
