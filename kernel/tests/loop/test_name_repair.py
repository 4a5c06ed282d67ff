"""Names that are not quite a tool's, and what a run remembers of its calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from wakeful import ActionError, Agent, action, hookimpl
from wakeful.testing import Database, TurnResult, say
from wakeful.tools.offer import PlainOffer
from wakeful.types import Call, InvalidParam, Invocation, Judgement, NameRepair, Run, Verdict

Turn = Callable[..., TurnResult]


@action(effect="read", output_trust="trusted")
async def find_lead(name: str) -> str:
    """Find a lead."""
    if name == "Nobody":
        raise ActionError(
            "NO_SUCH_LEAD",
            "there is no lead Nobody",
            retryable=False,
            suggestion="Use a name of the list.",
            suggested=["Noah"],
            invalid=[InvalidParam("name", "is no lead")],
            example={"name": "Noah"},
            next_actions=["list_leads"],
        )
    return name


class Repairs:
    """Knows one other name."""

    name = "repairs"

    def __init__(self, meant: Any = "find_lead") -> None:
        self.found = meant
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    @hookimpl
    def tool_repair(self) -> NameRepair:
        return self

    def meant(self, written: str, names: Sequence[str]) -> str | None:
        self.asked.append((written, tuple(names)))
        if isinstance(self.found, Exception):
            raise self.found
        return str(self.found)


class PassesOn:
    """An offer with one tool, which stands for the action it names."""

    name = "passes-on"

    @hookimpl
    def tool_offer(self) -> PlainOffer:
        class Offer(PlainOffer):
            def resolve(self, call: Call, catalogue: Any, decision: Any) -> Any:
                args = json.loads(call.args)
                return [(args["action"], args["arguments"])] if call.tool == "find_lead" else []

        return Offer()


def called(run_turn: Turn, tool: str, args: Any, *plugins: object) -> TurnResult:
    agent = Agent(model="", actions=[find_lead], plugins=plugins)
    return run_turn(agent, "Go", replies=[say(calls=[(tool, args)]), "Done."])


def test_a_repaired_call_is_executed_and_its_own_name_is_kept(run_turn: Turn, store: Database) -> None:
    repairs = Repairs()
    result = called(run_turn, "functions.find_lead", {"name": "Ana"}, repairs)
    assert result.calls[0].result.outputs == {"result": "Ana"}
    assert repairs.asked == [("functions.find_lead", ("find_lead",))]
    row = store.rows("select tool, action from action_call")[0]
    assert row == {"tool": "functions.find_lead", "action": "find_lead"}


def test_a_right_name_is_not_repaired(run_turn: Turn) -> None:
    repairs = Repairs()
    assert called(run_turn, "find_lead", {"name": "Ana"}, repairs).calls[0].result.success
    assert repairs.asked == []


def test_what_an_offer_passes_on_is_repaired_too(run_turn: Turn) -> None:
    args = {"action": "FindLead", "arguments": {"name": "Ana"}}
    result = called(run_turn, "find_lead", args, Repairs(), PassesOn())
    assert result.calls[0].result.outputs == {"result": "Ana"}
    refused = called(run_turn, "find_lead", args, PassesOn()).calls[0].result
    assert (refused.code, refused.recovery and refused.recovery.suggested_values) == (
        "UNKNOWN_TOOL",
        ("find_lead",),
    )


@pytest.mark.parametrize("found", ["no_such_tool", LookupError("broken")])
def test_a_repair_that_fails_or_invents_repairs_nothing(
    run_turn: Turn, caplog: pytest.LogCaptureFixture, found: Any
) -> None:
    result = called(run_turn, "find_leed", {"name": "Ana"}, Repairs(found))
    assert result.calls[0].result.code == "UNKNOWN_TOOL"
    reported = "plugin 'repairs' failed in tool_repair: LookupError: broken" in caplog.text
    assert reported is isinstance(found, Exception)


def test_an_action_fails_with_all_it_knows(run_turn: Turn) -> None:
    text = called(run_turn, "find_lead", {"name": "Nobody"}).calls[0].text
    assert text.splitlines() == [
        "## Find Lead ✗",
        "**Result:** NO_SUCH_LEAD — there is no lead Nobody",
        "**Retryable:** no",
        "**Invalid:** `name` is no lead",
        "**How to recover:** Use a name of the list.",
        "**Did you mean:** `Noah`",
        '**Valid example:** `{"name":"Noah"}`',
        "**Next:** `list_leads`",
    ]


class Watches:
    """A judge that writes down how earlier calls ended, and denies one."""

    name = "watches"

    def __init__(self) -> None:
        self.seen: list[Any] = []

    @hookimpl
    def policy_verdict(self, run: Run, proposal: Invocation) -> Judgement | None:
        self.seen = [(each.args, each.code, each.retryable, each.executed) for each in run.outcomes]
        if proposal.args == {"name": "Eve"}:
            return Judgement(Verdict.DENY, "not her", code="NOT_HER")
        return None


def test_a_run_remembers_how_its_calls_ended(run_turn: Turn) -> None:
    watches = Watches()
    agent = Agent(model="", actions=[find_lead], plugins=[watches])
    names = [{"name": "Ana"}, {"name": "Nobody"}, {"name": "Eve"}, {}]
    replies = [say(calls=[("find_lead", args) for args in names]), say(calls=["find_lead"])]
    replies.append(say(calls=[("find_lead", {"name": "Ana"})]))
    result = run_turn(agent, "Go", replies=[*replies, "Done."])
    assert result.answer.text == "Done."
    assert [seen[1:] for seen in watches.seen] == [
        ("SUCCESS", None, True),
        ("NO_SUCH_LEAD", False, True),
        ("NOT_HER", False, False),
        ("MISSING_ARGUMENT", True, False),
        ("MISSING_ARGUMENT", True, False),
    ]
    assert "was not run: not her" in result.calls[2].text
