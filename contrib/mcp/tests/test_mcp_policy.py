"""Policies, limits and checks of arguments apply to tools of servers as to any other action."""

from __future__ import annotations

from typing import Any

import pytest

import wakeful
from contrib.mcp.tests.conftest import Desk
from wakeful import Agent, hookimpl
from wakeful.testing import FakeClock, FakeIds, ScriptedModel, say
from wakeful.types import ActionEnded, ActionResult, Effect, Judgement, Trust, Verdict
from wakeful_mcp import ServerSettings
from wakeful_mcp.actions import Pinned, names
from wakeful_mcp.definitions import Definition


async def results(app: Any) -> list[ActionResult]:
    events = [event async for event in app.stream("agent", "Go", conversation="c")]
    return [event.result for event in events if isinstance(event, ActionEnded)]


class Watch:
    """Denies what is external, and notes what it was asked."""

    name = "watch"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []

    @hookimpl
    def policy_verdict(self, run: Any, proposal: Any, action: Any, earlier: Any) -> Judgement | None:
        self.asked.append((action.tool_name, action.effect.value, proposal.args))
        return Judgement(Verdict.DENY, "not outside") if action.effect is Effect.EXTERNAL else None


async def test_policies_judge_them_before_anything_is_started(wakeful_app: Any, hostile: Any) -> None:
    watch = Watch()
    desk = hostile(effects={"plain": "read"})
    agent = desk.agent([("mcp_h_plain", {"n": "5"}), ("mcp_h_count", {})], plugins=[watch])
    async with wakeful_app(agent) as app:
        read, denied = await results(app)
    assert (read.success, denied.code) == (True, "POLICY_DENIED")
    assert "not outside" in denied.message
    assert watch.asked == [("mcp_h_plain", "read", {"n": 5}), ("mcp_h_count", "external", {})]


async def test_arguments_are_checked_here_and_never_sent(wakeful_app: Any, hostile: Any) -> None:
    calls = [
        ("mcp_h_count", {"m": 1}),
        ("mcp_h_count", {"n": "many"}),
        ("mcp_h_count", "{"),
        ("mcp_h_count", {}),
    ]
    async with wakeful_app(hostile().agent(calls)) as app:
        unknown, wrong, broken, fine = await results(app)
    assert [unknown.code, wrong.code, broken.code] == ["UNKNOWN_ARGUMENT", "INVALID_ARGUMENT", "INVALID_JSON"]
    assert fine.outputs["text"].startswith("1 calls ")


async def test_limits_and_settings_of_the_file_apply(hostile: Any) -> None:
    desk = hostile()
    desk.command("list")
    file = desk.folder / "wakeful.toml"
    more = '[agents.agent.action."mcp_h_*"]\nmax_executions = 1\neffect = "read"\n'
    file.write_text('[store]\nurl = "sqlite://"\n' + file.read_text() + more)
    model = ScriptedModel([say(calls=[("mcp_h_plain", {}), ("mcp_h_plain", {})]), "Done."])
    async with wakeful.open(file, clock=FakeClock(), ids=FakeIds(), model=model) as app:
        first, second = await results(app)
        assert app.agents["agent"].actions["mcp_h_plain"].effect is Effect.READ
    assert first.success
    assert not second.success


@pytest.mark.parametrize(("trust", "expected"), [("untrusted", 2), ("semi_trusted", 1), ("trusted", 0)])
async def test_trust_is_the_owners_to_say(wakeful_app: Any, hostile: Any, trust: str, expected: int) -> None:
    async with wakeful_app(hostile(trust=trust).agent(("mcp_h_plain", {}))) as app:
        (result,) = await results(app)
    assert result.trust is Trust(expected)


HINTED = [
    # what the owner says, what the server hints, what holds
    ("external", {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}, "external"),
    ("write", {"readOnlyHint": True}, "write"),
    ("fetch", {"openWorldHint": False}, "fetch"),
    ("read", {}, "read"),
    ("read", {"readOnlyHint": True}, "read"),
    ("read", {"readOnlyHint": False}, "external"),
    ("read", {"readOnlyHint": False, "destructiveHint": False}, "write"),
    ("read", {"destructiveHint": True}, "external"),
    ("read", {"openWorldHint": True}, "fetch"),
    ("fetch", {"readOnlyHint": False, "destructiveHint": False}, "external"),
    ("write", {"openWorldHint": True}, "external"),
    ("write", {"readOnlyHint": False, "destructiveHint": False}, "write"),
]


@pytest.mark.parametrize(("said", "hints", "holds"), HINTED)
def test_hints_only_make_an_effect_stricter(said: Any, hints: dict[str, bool], holds: str) -> None:
    tool = Definition("t", "", {}, hints)
    for settings in (
        ServerSettings(command="x", effect=said),
        ServerSettings(command="x", effects={"*": said}),
    ):
        assert Pinned("s", tool, settings).effect.value == holds
    named = ServerSettings(command="x", effects={"*": "external", "t": said})
    assert Pinned("s", tool, named).effect.value == said


async def test_hints_never_let_a_call_run_twice(wakeful_app: Any, desk: Desk) -> None:
    desk.hostile()
    hints = {"idempotentHint": True, "readOnlyHint": True}
    desk.pin("h", {"plain": Definition("plain", "Do plain.", {}, hints)})
    async with wakeful_app(desk.agent()) as app:
        assert not app.agents["agent"].actions["mcp_h_plain"].reruns


def test_names_are_short_distinct_and_the_same_in_any_order() -> None:
    settings = ServerSettings(command="x")
    tools = [
        Pinned(server, Definition(tool), settings)
        for server, tool in [
            ("a", "b_c"),
            ("a_b", "c"),
            ("a", "get-item"),
            ("a", "getItem"),
            ("a", "x" * 100),
            ("a", "x" * 101),
            ("a", "名前"),
        ]
    ]
    found = names(tools)
    assert found == names(tools[::-1])
    short = [name for _, name in found.values()]
    assert len(set(short)) == len(tools)
    assert all(len(name) <= 64 and name.startswith("mcp_a") for name in short)
    assert found["a", "getItem"] == ("mcp_a_getItem", "mcp_a_getitem")
    assert found["a", "b_c"][1].startswith("mcp_a_b_c_")


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({}, "give a command or a url"),
        ({"command": "x", "url": "https://example.com"}, "give command or url, not both"),
        ({"url": "ftp://example.com"}, "expected an address that begins with https:// or http://"),
        ({"command": "x", "trust": "trustd"}, "did you mean 'trusted'"),
        ({"command": "x", "effect": "reed"}, "expected one of read, fetch, write, external"),
        ({"command": "x", "effects": {"a": "reed"}}, "'a' is 'reed'; expected one of read, fetch"),
        ({"command": "x", "comand": "y"}, "did you mean 'command'?"),
        ({"command": "x", "timeout_s": 0}, "timeout_s"),
    ],
)
async def test_wrong_settings_are_named(wakeful_app: Any, desk: Desk, settings: Any, problem: str) -> None:
    desk.server("shop", **settings)
    async with wakeful_app(desk.agent()) as app:
        text = "\n".join(map(str, app.problems("agent")))
    assert problem in text
    assert "plugins.mcp" in text


async def test_an_agent_written_in_python_has_servers_too(wakeful_app: Any, hostile: Any) -> None:
    desk = hostile()
    agent = Agent(
        model=ScriptedModel([say(calls=[("mcp_h_plain", {})]), "Done."]),
        actions=["plugin:mcp"],
        settings={"mcp": {"servers": desk.servers}},
        folder=desk.folder,
    )
    async with wakeful_app(agent) as app:
        (result,) = await results(app)
    assert result.success
