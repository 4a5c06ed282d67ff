"""What is hidden, what stays, and what the prompt says of it."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from wakeful import Agent, action
from wakeful.testing import ScriptedModel
from wakeful.testing.catalogue import actions
from wakeful.types import Action, ConfigError, Profile, Request

SEARCH, EXECUTE = "search_available_actions", "execute_discovered_action"


@action(effect="read", pinned=True)
def always_there() -> str:
    """Be there."""
    return "here"


def shown(request: Request) -> list[str]:
    return [tool.name for tool in request.tools if not tool.deferred]


def first(result: Any) -> Request:
    request: Request = result.requests[0]
    return request


@pytest.mark.parametrize(
    ("number", "settings", "hides"),
    [
        (120, {}, True),
        (10, {}, False),
        (11, {}, False),  # more than ten, but few tokens to hide
        (11, {"min_hidden_tokens": 0}, True),
        (10, {"min_hidden_tokens": 0}, False),
        (120, {"threshold": 120}, False),
        (120, {"min_hidden_tokens": 100_000}, False),
        (120, {"mode": "never"}, False),
        (6, {"mode": "always"}, True),
        (5, {"mode": "always"}, False),  # the five that stay are all there is
    ],
)
def test_actions_are_hidden_where_that_saves_something(
    play: Any, number: int, settings: dict[str, Any], hides: bool
) -> None:
    request = first(play(number=number, **settings))
    names = shown(request)
    assert (SEARCH in names, EXECUTE in names) == (hides, hides)
    assert len(names) == (5 + 2 if hides else number)
    assert bool(request.system) is hides
    assert names == sorted(names)


def test_nothing_is_added_if_nothing_is_hidden(play: Any, run_turn: Any) -> None:
    plain = run_turn(Agent(model="", actions=actions(8)), "Go", replies=["Done."])
    assert first(play(number=8)).canonical() == first(plain).canonical()


def test_the_first_of_the_agents_own_order_stay_declared(play: Any) -> None:
    own = tuple(reversed(actions(12)))
    names = shown(first(play(own=own, number=0, mode="always", pin_top=2)))
    assert set(names) == {own[0].tool_name, own[1].tool_name, SEARCH, EXECUTE}


@pytest.mark.parametrize(
    ("own", "pinned", "stay"),
    [
        ((always_there,), (), {"always_there"}),
        ((always_there,), ("mail_create_label",), {"always_there", "mail_create_label"}),
        ((), ("wiki_*_page",), {f"wiki_{verb}_page" for verb in ("create", "search", "update", "delete")}),
        ((), ("Fleet Create Trip",), {"fleet_create_trip"}),
    ],
)
def test_pinned_actions_stay_declared(
    play: Any, own: tuple[Action, ...], pinned: tuple[str, ...], stay: set[str]
) -> None:
    assert set(shown(first(play(own=own, pinned=list(pinned))))) == {*stay, SEARCH, EXECUTE}


def test_a_pinned_name_that_nothing_has_is_reported(play: Any, caplog: pytest.LogCaptureFixture) -> None:
    names = shown(first(play(pinned=["gone_for_now", "crm_create_deal"])))
    assert set(names) == {"crm_create_deal", SEARCH, EXECUTE}
    assert "plugins.multiplexer.pinned: no action is named 'gone_for_now' now" in caplog.text


def test_hidden_names_are_listed_once_and_by_category(play: Any) -> None:
    (text,) = first(play()).system
    assert text.startswith("Beside your tools there are 115 more actions. Find one with search_available")
    assert "\nbilling: billing_create_invoice, billing_create_payment," in text
    listed = [name for line in text.splitlines()[1:] for name in line.partition(": ")[2].split(", ")]
    assert len(listed) == len(set(listed)) == 115


def test_of_too_many_names_only_the_categories_are_listed(play: Any) -> None:
    (text,) = first(play(index_names_up_to=100)).system
    assert text.endswith(
        "Their categories: billing (12), calendar (12), files (12), fleet (12), helpdesk (12), mail (12),"
        " people (12), shop (12), wiki (12), crm (7)."
    )


async def test_where_the_model_searches_itself_hidden_actions_are_deferred(wakeful_app: Any) -> None:
    model = ScriptedModel(["Done.", "Done."], profile=Profile("scripted", tool_search=True))
    agent = Agent(model=model, actions=actions(), plugins=["multiplexer"])
    async with wakeful_app(agent) as app:
        await app.send("agent", "Go")
        tools = app.agents["agent"].declared.tools
    assert len(tools) == 120
    assert [tool.name for tool in tools] == sorted(tool.name for tool in tools)
    assert sum(tool.deferred for tool in tools) == 115
    assert SEARCH not in {tool.name for tool in tools}
    assert "The tool search finds them" in model.requests[0].system[0]
    own = evolve(agent, settings={"multiplexer": {"backend": "tools"}})
    async with wakeful_app(own) as app:
        assert not any(tool.deferred for tool in app.agents["agent"].declared.tools)


@pytest.mark.parametrize(
    ("own", "settings", "what"),
    [
        ((), {"backend": "provider"}, "has no tool search of its own; expected 'auto' or 'tools'"),
        ((EXECUTE,), {}, f"an action has the tool name '{EXECUTE}', which the multiplexer needs; rename it"),
        ((SEARCH,), {}, f"tool '{SEARCH}' is declared by"),
        ((), {"threshold": -1}, "threshold must be 0 or more, not -1"),
    ],
)
def test_what_cannot_be_is_said_when_the_agent_is_built(
    play: Any, own: tuple[str, ...], settings: dict[str, Any], what: str
) -> None:
    named = [evolve(actions(1)[0], tool_name=name) for name in own]
    with pytest.raises(ConfigError, match=what):
        play(own=named, **settings)
