"""``wakeful doctor`` names the rules that send calls to a review which nobody makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wakeful.cli.main import main

TOOLS = '''
from wakeful import action


@action(effect="external", output_trust="trusted", category="money")
def pay(euros: int) -> str:
    """Pay."""
    return ""


@action(effect="write", output_trust="trusted", external_if_present=["guests"], category="desk")
def book(day: str, guests: str = "") -> str:
    """Book a room."""
    return day


@action(effect="read", output_trust="trusted", category="desk")
def look(day: str) -> str:
    """Look at a day."""
    return day
'''
OPEN = """

from wakeful.types import Action

anything = Action("Anything", "Do.", {"type": "object", "additionalProperties": True}, pay.run)
"""
SMALL = {"action": "pay", "args": {"euros": {"below": 100}}, "verdict": "auto_review"}
PAY = "rule {} (action pay, argument euros) sends calls of pay to a review, and no plugin reviews: "
ASKED, DENIED = "a person is asked", "they are denied, as no plugin stores approvals"


@pytest.fixture
def doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run ``wakeful doctor`` and return what the plugin says of its rules."""
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "script.jsonl").write_text(json.dumps({"text": "Hi."}) + "\n")
    monkeypatch.chdir(tmp_path)

    def warnings(*rules: dict[str, Any], plugins: tuple[str, ...] = ("policy", "approvals")) -> list[str]:
        tables = "".join(
            "\n[[agents.desk.plugins.policy.rules]]\n"
            + "".join(f"{name} = {toml(value)}\n" for name, value in rule.items())
            for rule in rules
        )
        (tmp_path / "wakeful.toml").write_text(
            '[store]\nurl = "sqlite:///wakeful.db"\n[agents.desk]\nmodel = "replay:script.jsonl"\n'
            f'actions = ["tools:*"]\napprovers = ["ana"]\nplugins.enable = {json.dumps(plugins)}\n{tables}'
        )
        main(["doctor", "--json"])
        found = json.loads(capsys.readouterr().out)["agents"]["desk"]["warnings"]
        return [each.removeprefix("policy: ") for each in found if each.startswith("policy: ")]

    return warnings


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {toml(each)}" for name, each in value.items()) + " }"
    return json.dumps(value)


def test_a_rule_with_conditions_on_arguments_is_named(doctor: Any) -> None:
    deny = {"action": "pay", "verdict": "deny"}
    assert doctor(deny, SMALL) == [PAY.format(2) + ASKED]


def test_where_nobody_stores_approvals_the_calls_are_denied(doctor: Any) -> None:
    assert doctor(SMALL, plugins=("policy",)) == [PAY.format(1) + DENIED]


def test_with_a_judge_nothing_is_said(doctor: Any) -> None:
    assert doctor(SMALL, plugins=("policy", "approvals", "judge")) == []


def test_each_rule_is_named_in_the_order_of_the_file_with_its_actions(doctor: Any) -> None:
    found = doctor({"category": "desk", "verdict": "auto_review"}, SMALL, {"verdict": "auto_review"})
    assert [each.partition(" to a review")[0] for each in found] == [
        "rule 1 (category desk) sends calls of book, look",
        "rule 2 (action pay, argument euros) sends calls of pay",
        "rule 3 (every call) sends calls of ask_person, pay",
    ]


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ([{"effect": "external", "verdict": "auto_review"}], "book, pay"),
        ([{"effect": "write", "verdict": "auto_review"}], "book"),
        ([{"effect": "write", "action": "pay", "verdict": "auto_review"}], ""),
        ([{"action": "pay", "verdict": "allow"}, {"action": "p*", "verdict": "auto_review"}], ""),
        ([{"action": "pay", "verdict": "deny", "effect": "external"}, {**SMALL, "args": {}}], ""),
        (
            [
                {"action": "book", "verdict": "deny", "effect": "write"},
                {"action": "bo*", "verdict": "auto_review"},
            ],
            "book",
        ),
    ],
    ids=["external", "write", "another effect", "a closer rule", "the stricter of two", "the other effect"],
)
def test_only_rules_that_can_count_are_named(doctor: Any, rules: list[dict[str, Any]], named: str) -> None:
    found = doctor(*rules)
    assert [each.partition("calls of ")[2].partition(" to a review")[0] for each in found] == (
        [named] if named else []
    )


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            {"action": "pay", "args": {"euroz": {"above": 100}}},
            "has a condition on 'euroz', an argument of no action that it is about; did you mean 'euros'?",
        ),
        ({"category": "desk", "args": {"guests": {"given": True}}}, ""),
        ({"args": {"guest.name": {"equals": "eve"}}}, "did you mean 'guests'?"),
        ({"action": "anything", "args": {"euroz": {"above": 100}}}, ""),
    ],
    ids=["one action", "one of several", "inside an argument", "an action that takes any"],
)
def test_conditions_on_arguments_that_no_action_takes_are_named(
    doctor: Any, rule: dict[str, Any], said: str
) -> None:
    (Path.cwd() / "tools.py").write_text(
        TOOLS + OPEN if rule.get("action") == "anything" else TOOLS, encoding="utf-8"
    )
    found = doctor({**rule, "verdict": "deny"})
    assert len(found) == bool(said)
    assert said in "".join(found)
