"""Loops: what they go over, what they hand on, where they stop and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from attrs import define, field

from plugins.recovery.tests.aging import WIDE, Played, agent_of, play
from wakeful import ActionError, action, hookimpl
from wakeful.testing import ScriptedModel, say
from wakeful.types import (
    Action,
    ActionContext,
    ActionEnded,
    ActionResult,
    Invocation,
    Judgement,
    RowKind,
    Trust,
    Verdict,
)


@define
class Office:
    """What the agent can do, and what was done."""

    done: list[Any] = field(factory=list)

    def actions(self, **declared: Any) -> list[Action]:
        """Declare the list, the deed and pages."""

        @action(effect="read", output_trust=declared.pop("trust", "trusted"))
        async def people() -> list[dict[str, Any]]:
            """Return people."""
            return [{"name": name, "address": {"city": city}} for name, city in PEOPLE]

        @action(effect="external", output_trust="trusted", **declared)
        async def greet(name: str, text: str = "Hello", number: int = 0, city: str = "") -> str:
            """Greet somebody."""
            if name == "Bob":
                raise ActionError("NO_SUCH_PERSON", "there is no Bob")
            self.done.append((name, text, number, city))
            return f"{text}, {name}"

        @action(effect="read", output_trust="trusted")
        async def page(number: int = 1) -> dict[str, Any]:
            """Return a page."""
            self.done.append(number)
            return {"next_page": number + 1 if number < 4 else None, "rows": [number]}

        return [people, greet, page]


PEOPLE = [("Ada", "London"), ("Grace", "New York"), ("Bob", "Paris"), ("Linus", "Helsinki")]


@pytest.fixture
def office() -> Office:
    return Office()


def loop(office: Office, tool: str, args: Any, plugins: Sequence[Any] = (), **given: Any) -> Played:
    model = ScriptedModel([say(calls=[(tool, args)]), "Done."], WIDE)
    settings = {"loops": given.pop("settings", {})}
    agent = agent_of(model, office.actions(**given), plugins=["loops", *plugins], settings=settings)
    played = play(agent, ["Go"])
    assert played.answers[-1].text == "Done.", played.answers[-1]
    return played


def ended(played: Played) -> ActionEnded:
    (found,) = [event for event in played.events if isinstance(event, ActionEnded)]
    return found


def test_each_item_is_handed_on_and_told_in_one_result(office: Office) -> None:
    args = {"name": "item.name", "text": "Good morning", "number": "index", "city": "item.address.city"}
    played = loop(office, "for_each", {"action": "greet", "args": args, "from_action": "people"})
    assert office.done == [
        ("Ada", "Good morning", 0, "London"),
        ("Grace", "Good morning", 1, "New York"),
        ("Linus", "Good morning", 3, "Helsinki"),
    ]
    text = ended(played).text
    assert "for_each over people.result (4): 4 processed, 1 failed" in text
    assert "PARTLY_FAILED" in text
    assert "NO_SUCH_PERSON" in text
    assert "Good morning, Linus" in text
    assert len(played.requests) == 2, "no model is asked in between"


def test_it_is_one_row_of_its_own_type(office: Office) -> None:
    from wakeful.testing import run_turn

    model = ScriptedModel([say(calls=[("for_each", {"action": "greet", "items": ["Ada"]})]), "Done."], WIDE)
    result = run_turn(agent_of(model, office.actions(), plugins=["loops"]), "Go")
    (row,) = [row for row in result.rows if row.kind is RowKind.RESULT]
    assert row.meta["message_type"] == "loop-result"
    assert row.meta["turn_added"] == 1


def test_items_of_the_call_itself(office: Office) -> None:
    args = {"action": "greet", "args": {"name": "item", "text": "'index'"}, "items": ["Ada", "Linus"]}
    played = loop(office, "for_each", {**args, "args": {"name": "item", "number": "'index'"}})
    assert office.done == [("Ada", "Hello", 0, ""), ("Linus", "Hello", 1, "")]
    assert "for_each over items (2): 2 processed, 0 failed" in ended(played).text


def test_what_only_looks_like_a_place_is_literal(office: Office) -> None:
    args = {"name": "item", "text": "item by item, the index says"}
    loop(office, "for_each", {"action": "greet", "args": args, "items": ["Ada"]})
    assert office.done == [("Ada", "item by item, the index says", 0, "")]


def test_a_place_that_is_not_there_fails_that_item_alone(office: Office) -> None:
    items = [{"name": "Ada"}, {"nam": "Grace"}]
    played = loop(office, "for_each", {"action": "greet", "args": {"name": "item.name"}, "items": items})
    assert office.done == [("Ada", "Hello", 0, "")]
    assert "NO_SUCH_VALUE" in ended(played).text


@pytest.mark.parametrize(
    ("written", "meant"), [("GREET", True), ("gree", True), ("e", False), ("fly", False)]
)
def test_names_are_exact_or_the_one_that_contains_them(office: Office, written: str, meant: bool) -> None:
    played = loop(office, "for_each", {"action": written, "args": {"name": "item"}, "items": ["Ada"]})
    assert bool(office.done) is meant
    if not meant:
        assert "UNKNOWN_ACTION" in ended(played).text or "AMBIGUOUS_ACTION" in ended(played).text


def test_it_stops_after_so_many_failures(office: Office) -> None:
    args = {"action": "greet", "args": {"name": "item"}, "items": ["Bob"] * 50, "max_failures": 3}
    played = loop(office, "for_each", args, settings={"parallel": 1})
    assert "STOPPED" in ended(played).text
    assert "3 processed, 3 failed; stopped after 3 failures" in ended(played).text


def test_it_stops_at_the_limit_of_time(office: Office) -> None:
    @action(effect="read", output_trust="trusted")
    async def dwell(ctx: ActionContext, item: int) -> int:
        """Dwell."""
        clock: Any = ctx.services.clock
        clock.advance(6)
        return item

    call = ("for_each", {"action": "dwell", "args": {"item": "item"}, "items": list(range(9))})
    model = ScriptedModel([say(calls=[call]), "Done."], WIDE)
    settings = {"loops": {"max_seconds": 10.0, "parallel": 1}}
    played = play(agent_of(model, [dwell], plugins=["loops"], settings=settings), ["Go"])
    assert "2 processed, 0 failed; stopped at the limit of 10 seconds" in ended(played).text


def test_it_stops_at_the_limit_of_iterations(office: Office) -> None:
    args = {"action": "greet", "args": {"name": "item"}, "items": ["Ada"] * 9}
    played = loop(office, "for_each", args, settings={"max_iterations": 4})
    assert len(office.done) == 4
    assert "stopped at the limit of 4 iterations" in ended(played).text


def test_arguments_are_checked_for_every_item(office: Office) -> None:
    args = {"action": "greet", "args": {"nme": "item"}, "items": ["Ada", "Grace"]}
    text = ended(loop(office, "for_each", args)).text
    assert "ALL_FAILED" in text
    assert "UNKNOWN_ARGUMENT" in text
    assert not office.done


def test_the_limit_of_an_action_counts_inside_too(office: Office) -> None:
    args = {"action": "greet", "args": {"name": "item"}, "items": ["Ada"] * 9}
    played = loop(office, "for_each", args, max_executions=5)
    assert len(office.done) == 5
    assert "LIMIT_REACHED" in ended(played).text


def test_every_item_is_judged(office: Office) -> None:
    seen: list[tuple[str, str]] = []

    class Careful:
        name = "careful"

        @hookimpl
        def policy_verdict(self, proposal: Invocation) -> Judgement | None:
            seen.append((proposal.action, proposal.parent))
            if proposal.action == "greet" and proposal.args["name"] == "Grace":
                return Judgement(Verdict.DENY, "not her")
            return None

    args = {"action": "greet", "args": {"name": "item"}, "items": ["Ada", "Grace"]}
    played = loop(office, "for_each", args, plugins=[Careful()])
    assert [name for name, *_ in office.done] == ["Ada"]
    assert "POLICY_DENIED" in ended(played).text
    assert seen[0] == ("for_each", "")
    assert all(parent == seen[1][1] for _, parent in seen[1:])
    assert seen[1][1].endswith("/1/0")


def test_what_came_from_outside_makes_the_calls_and_the_whole_less_trusted(office: Office) -> None:
    seen: list[Trust] = []

    class Watching:
        name = "watching"

        @hookimpl
        def policy_verdict(self, proposal: Invocation) -> Judgement | None:
            if proposal.action == "greet":
                seen.append(max((each.trust for each in proposal.provenance), default=Trust.TRUSTED))
            return None

    args = {"action": "greet", "args": {"name": "item.name"}, "from_action": "people"}
    played = loop(office, "for_each", args, plugins=[Watching()], trust="untrusted")
    assert set(seen) == {Trust.UNTRUSTED}
    result: ActionResult = ended(played).result
    assert result.trust is Trust.UNTRUSTED


@pytest.mark.parametrize("place", ["last.result.next_page", "last.next_page"])
def test_while_goes_through_pages_until_there_is_no_next(office: Office, place: str) -> None:
    args = {"action": "page", "args": {"number": place}, "value": place, "operator": "is_not_empty"}
    played = loop(office, "while", args)
    assert office.done == [1, 2, 3, 4]
    assert f"while over {place} is_not_empty: 4 processed, 0 failed" in ended(played).text
    assert "it ended as" not in ended(played).text


def test_while_says_that_what_it_looks_at_is_not_there(office: Office) -> None:
    args = {"action": "page", "value": "last.nextpage", "operator": "is_not_empty"}
    text = ended(loop(office, "while", args)).text
    assert "1 processed, 0 failed; it ended as last has no .nextpage; it has next_page," in text


def test_while_stops_at_its_own_limit(office: Office) -> None:
    args = {
        "action": "page",
        "value": "index",
        "operator": "less_than",
        "operand": "100",
        "max_iterations": 3,
    }
    played = loop(office, "while", args)
    assert office.done == [1, 1, 1]
    assert "stopped at the limit of 3 iterations" in ended(played).text


def test_many_results_are_shown_shortened_where_nothing_keeps_them(office: Office) -> None:
    args = {"action": "page", "args": {"number": "item"}, "items": list(range(300))}
    text = ended(loop(office, "for_each", args)).text
    assert "the first 20 of 300 results are shown" in text
    assert len(text) < 10_000


def test_inner_calls_do_not_wear_the_circuit_breaker_out(office: Office) -> None:
    args = {"action": "greet", "args": {"name": "item"}, "items": ["Bob"] * 8, "max_failures": 0}
    text = ended(loop(office, "for_each", args, plugins=["recovery"])).text
    assert "8 processed, 8 failed" in text
    assert "ATTEMPTS_EXHAUSTED" not in text
