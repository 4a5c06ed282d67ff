"""What calls mean, however models write them."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counts import examples
from wakeful import action
from wakeful.testing import say
from wakeful.testing.catalogue import actions
from wakeful.types import ActionResult
from wakeful_multiplexer.calls import EXECUTE, MOST, Inner, inner_calls

PAGE = {"title": "A"}


def ran(play: Any, args: Any, *, tool: str = EXECUTE, **more: Any) -> list[Any]:
    return list(play(say(calls=[(tool, args)]), **more).calls)


def entries(*found: Any) -> dict[str, Any]:
    return {"actions": list(found)}


@pytest.mark.parametrize(
    "name",
    [
        "wiki_create_page",
        "Wiki Create Page",
        "WIKI-CREATE-PAGE",
        "wikiCreatePage",
        "functions.wiki_create_page",
        "mcp__server__wiki_create_page",
        "create_page",
        " wiki_create_page ",
    ],
)
def test_a_name_means_its_action_however_it_is_written(play: Any, name: str) -> None:
    (ended,) = ran(play, entries({"action_name": name, "parameters": PAGE}))
    assert (ended.invocation.action, ended.result.code) == ("wiki_create_page", "SUCCESS")
    if name.strip() == name:
        (ended,) = ran(play, PAGE, tool=name)
        assert (ended.invocation.action, ended.result.code) == ("wiki_create_page", "SUCCESS")


@pytest.mark.parametrize(
    "args",
    [
        entries({"action_name": "wiki_create_page", "parameters": PAGE}),
        entries({"actionName": "wiki_create_page", "arguments": PAGE}),
        entries({"name": "wiki_create_page", "args": '{"title": "A"}'}),
        {"actions": {"action_name": "wiki_create_page", "parameters": PAGE}},
        {"actions": '[{"action_name": "wiki_create_page", "parameters": {"title": "A"}}]'},
        {"action_name": "wiki_create_page", "parameters": PAGE},
    ],
)
def test_what_models_write_for_it_is_understood(play: Any, args: Any) -> None:
    (ended,) = ran(play, args)
    assert ended.result.outputs["given"] == PAGE
    assert ended.invocation.inner == 0


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        ("{", "INVALID_JSON", "arguments of execute_discovered_action are not valid JSON"),
        ("[]", "INVALID_JSON", "must be a JSON object, not an array"),
        ("{}", "MISSING_ARGUMENT", "'actions' names no action to run"),
        (entries(), "MISSING_ARGUMENT", "'actions' names no action to run"),
        ({"actions": 7}, "INVALID_ARGUMENT", "'actions' must be a list of actions to run"),
        ({"actions": "wiki_create_page"}, "INVALID_JSON", "not valid JSON"),
        (entries(*[{"action_name": "x"}] * (MOST + 1)), "INVALID_ARGUMENT", "at most 20 are run at once"),
        (entries("wiki_create_page"), "INVALID_ARGUMENT", "must be an object"),
        (entries({"parameters": PAGE}), "MISSING_ARGUMENT", "has no 'action_name'"),
        (
            entries({"action_name": "wiki_create_page", "parameters": [1]}),
            "INVALID_ARGUMENT",
            "must be an object",
        ),
        (
            entries({"action_name": "wiki_create_page", "title": "A"}),
            "UNKNOWN_ARGUMENT",
            "'title' is no part",
        ),
        (entries({"action_name": EXECUTE, "parameters": {}}), "UNKNOWN_ACTION", "there is no action"),
    ],
)
def test_what_cannot_be_read_fails_and_says_how_to_write_it(
    play: Any, args: Any, code: str, says: str
) -> None:
    (ended,) = ran(play, args)
    assert (ended.result.success, ended.result.code) == (False, code)
    assert says in ended.result.message
    assert ended.result.recovery.retryable


def test_every_entry_is_answered_in_order_and_a_bad_one_alone(play: Any) -> None:
    ended = ran(
        play,
        entries(
            {"action_name": "wiki_create_page", "parameters": PAGE},
            "nonsense",
            {"action_name": "wiki_create_pagee", "parameters": {}},
            {"action_name": "search_available_actions", "parameters": {"queries": ["create deal crm"]}},
            {"action_name": "wiki_delete_page", "parameters": {}},
            {"action_name": "wiki_delete_page", "parameters": {"page_id": "1"}},
        ),
    )
    assert [each.result.code for each in ended] == [
        "SUCCESS",
        "INVALID_ARGUMENT",
        "UNKNOWN_ACTION",
        "SUCCESS",
        "MISSING_ARGUMENT",
        "SUCCESS",
    ]
    assert [each.invocation.inner for each in ended] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("tool", [EXECUTE, "send_the_mail"])
def test_an_unknown_name_fails_with_at_most_five_near_ones(play: Any, tool: str) -> None:
    args = entries({"action_name": "send_the_mail", "parameters": {}}) if tool == EXECUTE else {}
    (ended,) = ran(play, args, tool=tool)
    suggested = ended.result.recovery.suggested_values
    assert ended.result.code == "UNKNOWN_ACTION"
    assert 1 <= len(suggested) <= 5
    assert set(suggested) <= {each.tool_name for each in actions()}
    assert any(name.startswith("mail_") for name in suggested)
    assert len(ended.text) < 600


def test_nothing_is_suggested_that_the_agent_may_not_call(play: Any) -> None:
    (ended,) = ran(play, entries({"action_name": "fleet_delete_trp", "parameters": {}}), number=30)
    assert not any("fleet" in name for name in ended.result.recovery.suggested_values)


def test_a_name_that_means_several_actions_is_not_guessed(play: Any) -> None:
    own = [evolve(actions(1)[0], tool_name=f"note_{n}", name="Take Note") for n in (1, 2)]
    (ended,) = ran(play, entries({"action_name": "take note", "parameters": {}}), own=own)
    assert ended.result.code == "AMBIGUOUS_ACTION"
    assert ended.result.recovery.suggested_values == ("note_1", "note_2")


def test_where_nothing_is_hidden_the_tools_of_the_plugin_do_not_exist(play: Any) -> None:
    for tool in (EXECUTE, "search_available_actions"):
        (ended,) = ran(play, {"queries": ["x"]}, tool=tool, number=8)
        assert ended.result.code == "UNKNOWN_TOOL"
        assert "search_available_actions" not in ended.text.partition("Did you mean")[2]


@action(effect="read", output_trust="trusted")
def keep(amount: float) -> str:
    """Keep."""
    return str(amount)


def test_numbers_are_not_rounded_on_the_way(play: Any) -> None:
    exact = '{"actions": [{"action_name": "keep", "parameters": {"amount": 0.1000000000000000055511}}]}'
    direct = '{"amount": 0.1000000000000000055511}'
    pinned: dict[str, Any] = {"own": [keep], "pinned": ["crm_create_deal"]}
    (wrapped,) = ran(play, exact, **pinned)
    (bare,) = ran(play, direct, tool="keep", **pinned)
    assert wrapped.result == bare.result


@settings(max_examples=examples(1_000), deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    )
)
def test_any_value_is_read_or_refused(value: Any) -> None:
    import json

    found = inner_calls(json.dumps({"actions": value}))
    assert isinstance(found, ActionResult) or all(isinstance(each, Inner | ActionResult) for each in found)
