"""A scripted conversation on each wire format and both backends: the agent finds and runs the right tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from tests.multiplexed import WAYS, Way
from wakeful import Agent, hookimpl
from wakeful.app import App
from wakeful.prompt import PlainLayout
from wakeful.testing.catalogue import actions
from wakeful.types import Action, ActionEnded, AgentView, Draft, Json, Marks, Request

Desk = Callable[..., AbstractAsyncContextManager[App]]

SEARCH, EXECUTE = "search_available_actions", "execute_discovered_action"
#: The scripted model calls a tool however it is exposed: through whatever search there is.
FINDS = [
    {"calls": [{"tool": "calendar_create_room", "args": {"room_name": "Blue"}}]},
    "The room is there.",
    {"calls": [{"tool": "crm_create_deal", "args": {"title": "Big"}}]},  # one that stays declared
    {
        "calls": [
            {"tool": "calendar_create_room", "args": {"room_name": "Red"}},
            {"tool": "shop_delete_coupon", "args": {"coupon_id": "9"}},
        ]
    },
    "All done.",
]
BOTH = pytest.mark.parametrize("backend", ["auto", "tools"])


@pytest.fixture(params=WAYS, ids=lambda way: way.name)
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


@pytest.fixture
def desk(
    wire: Any, way: Way, wakeful_app: Callable[..., AbstractAsyncContextManager[App]]
) -> Callable[..., AbstractAsyncContextManager[App]]:
    """Open an agent with the kit's catalogue before the wire server."""

    def start(
        *own: Action, plugins: Sequence[Any] = ("multiplexer",), **settings: Json
    ) -> AbstractAsyncContextManager[App]:
        scheme = way.model.partition(":")[0]
        provider = {"api_key": "k", "base_url": way.url(wire), **way.settings}
        agent = Agent(
            model=way.model,
            instructions="Be brief.",
            actions=(*own, *actions()),
            plugins=plugins,
            settings={scheme: provider, **({"multiplexer": settings} if settings else {})},
        )
        return wakeful_app(agent)

    return start


async def talk(app: App, *texts: str) -> list[ActionEnded]:
    return [
        event
        for text in texts
        async for event in app.stream("agent", text, conversation="c-1")
        if isinstance(event, ActionEnded)
    ]


def declared(request: Any, *, deferred: bool = False) -> set[str]:
    found = (tool.get("function", tool) for tool in request["tools"])
    return {str(tool.get("name")) for tool in found if bool(tool.get("defer_loading")) is deferred}


def size(request: Any) -> int:
    """Return the characters of the declarations that stand in the prompt, and of what is said of others."""
    tools = [t for t in request["tools"] if not t.get("defer_loading", False)]
    return len(json.dumps(tools))


@BOTH
async def test_the_right_tool_is_found_and_run(wire: Any, desk: Desk, way: Way, backend: str) -> None:
    wire.play(FINDS)
    async with desk(backend=backend) as app:
        ended = await talk(app, "Add the room Blue.", "Now a deal, Red, and drop coupon 9.")
    ran = [(each.invocation.action, each.invocation.args, each.result.success) for each in ended]
    assert [each for each in ran if each[0] != SEARCH] == [
        ("calendar_create_room", {"room_name": "Blue"}, True),
        ("crm_create_deal", {"title": "Big"}, True),
        ("calendar_create_room", {"room_name": "Red"}, True),
        ("shop_delete_coupon", {"coupon_id": "9"}, True),
    ]
    by_provider = way.searches and backend == "auto"
    assert any(each[0] == SEARCH for each in ran) is not by_provider
    assert len({json.dumps(request["tools"]) for request in wire.requests}) == 1
    assert wire.summary()["prefix_breaks"] == 0, wire.explain()
    assert not wire.summary().get("unreachable_tools")
    if by_provider:
        assert len(declared(wire.requests[0], deferred=True)) == 115
        assert len(wire.requests) == 5
    else:
        assert {SEARCH, EXECUTE} < declared(wire.requests[0])
        assert not declared(wire.requests[0], deferred=True)


@BOTH
async def test_declarations_cost_a_tenth_at_most(wire: Any, desk: Desk, backend: str) -> None:
    wire.play(["Hi."] * 2)
    async with desk(backend=backend) as app:
        await app.send("agent", "Hello", conversation="c-1")
    hidden = size(wire.requests[0])
    async with desk(plugins=()) as app:
        await app.send("agent", "Hello", conversation="c-2")
    everything = size(wire.requests[1])
    assert everything > 60_000
    assert hidden < 0.06 * everything
    told = [row["input_tokens"] for row in wire.meter.rows]
    assert told[0] < 0.10 * told[1]


class Marking:
    """Marks the tools, as a cache plugin does."""

    name = "marking"

    @hookimpl
    def prompt_layout(self, agent: AgentView) -> Any:
        class Layout(PlainLayout):
            def compose(self, draft: Draft) -> Request:
                from attrs import evolve

                return evolve(super().compose(draft), marks=Marks(tools=True, system=True))

        return Layout()


@BOTH
@pytest.mark.parametrize("way", WAYS[:1], ids=["anthropic"])  # the only one that marks tools
async def test_the_cache_mark_is_on_the_last_tool_that_is_not_deferred(
    wire: Any, desk: Desk, way: Way, backend: str
) -> None:
    wire.play(FINDS)
    async with desk(plugins=("multiplexer", Marking), backend=backend) as app:
        await talk(app, "Add the room Blue.", "Now a deal, Red, and drop coupon 9.")
    for request in wire.requests:
        marked = [tool["name"] for tool in request["tools"] if "cache_control" in tool]
        visible = [tool["name"] for tool in request["tools"] if not tool.get("defer_loading")]
        assert marked == visible[-1:]


async def test_several_actions_of_one_call_are_answered_together_and_one_bad_one_alone(
    wire: Any, desk: Desk, way: Way
) -> None:
    entries = [
        {"action_name": "wiki_create_page", "parameters": {"title": "A"}},
        {"action_name": "wiki_create_pgae", "parameters": {"title": "B"}},
        {"action_name": "Wiki Create Page", "parameters": {"title": "C", "colour": "red"}},
        {"action_name": "functions.wiki_create_page", "parameters": '{"title": "D"}'},
    ]
    wire.play([{"calls": [{"tool": EXECUTE, "args": {"actions": entries}}]}, "Done."])
    async with desk(backend="tools") as app:
        ended = await talk(app, "Write.")
    assert [(each.invocation.inner, each.result.code) for each in ended] == [
        (0, "SUCCESS"),
        (1, "UNKNOWN_ACTION"),
        (2, "UNKNOWN_ARGUMENT"),
        (3, "SUCCESS"),
    ]
    last = wire.requests[1]
    answers = {
        "anthropic": lambda: [
            part for part in last["messages"][-1]["content"] if part["type"] == "tool_result"
        ],
        "responses": lambda: [item for item in last["input"] if item["type"] == "function_call_output"],
        "chat": lambda: [message for message in last["messages"] if message["role"] == "tool"],
    }[way.name]()
    (answer,) = answers
    text = json.dumps(answer)
    places = [text.index(part) for part in ("`title`: A", "wiki_create_pgae", "colour", "`title`: D")]
    assert places == sorted(places)
    assert not answer.get("is_error", False)
    assert "`wiki_create_page`" in text  # the near name
