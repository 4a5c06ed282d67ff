"""The payload in runs: shown, changed whole or not at all, and with its trust."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve
from sqlalchemy import select

import wakeful
from plugins.agents.tests.effects import run_turn
from wakeful import ActionContext, ActionResult, Agent, action
from wakeful.store.tables import action_call, plugin_state, step
from wakeful.testing import ScriptedModel, say
from wakeful.types import ConfigError, Request, Trust


@action(effect="fetch")
async def web() -> ActionResult:
    """Read a page."""
    return ActionResult(outputs={"text": "from outside"}, source="https://example.org")


@action(effect="read", output_trust="trusted")
async def echo(text: str) -> str:
    """Say it again."""
    return text


def change(*changes: tuple[str, str] | tuple[str, str, Any]) -> Any:
    spelled = [
        {"op": each[0], "path": each[1], **({"value": each[2]} if len(each) > 2 else {})} for each in changes
    ]
    return ("change_payload", {"changes": spelled})


def agent(*lines: Any, paths: list[str] | None = None, **of: Any) -> Agent:
    return Agent(
        model=ScriptedModel(list(lines)),
        actions=[web, echo],
        plugins=["payload"],
        settings={"payload": {"paths": paths or [], **of}},
    )


def state(request: Request) -> str:
    text = request.canonical()
    return text[text.rindex("payload: ") :]


def test_none_is_not_null() -> None:
    result = run_turn(agent(say(calls=[change(("new", "", None))]), "Done."), "Go")
    assert "payload: none" in state(result.requests[0])
    assert "payload: null" in state(result.requests[1])


def test_changes_follow_each_other() -> None:
    first = [change(("new", "", {"orders": []}), ("new", "orders[+]", {"total": 5}))]
    lines = [say(calls=first), say(calls=[change(("update", "orders[0]", {"paid": True}))]), "Done."]
    result = run_turn(agent(*lines), "Go")
    assert [call.result.code for call in result.calls] == ["SUCCESS"] * 2
    assert json.dumps('{"orders":[{"paid":true,"total":5}]}')[1:-1] in state(result.requests[2])


def test_two_calls_of_a_step_do_not_lose_each_others_changes() -> None:
    result = run_turn(agent(say(calls=[change(("new", "a", 1)), change(("new", "b", 2))]), "Done."), "Go")
    assert [call.result.code for call in result.calls] == ["SUCCESS", "PAYLOAD_BUSY"]
    wrong = ("change_payload", {"changes": "all of them"})
    result = run_turn(agent(say(calls=[wrong, change(("new", "b", 2))]), "Done."), "Go")
    assert [call.result.code for call in result.calls] == ["INVALID_ARGUMENT", "SUCCESS"]


def test_nothing_is_applied_in_part() -> None:
    lines = [say(calls=[change(("new", "a", 1))]), say(calls=[change(("update", "a", 2), ("new", "_x", 3))])]
    result = run_turn(agent(*lines, "Done."), "Go")
    assert result.calls[1].result.code == "PAYLOAD_REFUSED"
    assert "nothing was changed: new _x" in result.calls[1].text
    assert json.dumps('{"a":1}')[1:-1] in state(result.requests[2])


def test_rules_of_the_file() -> None:
    lines = [say(calls=[change(("new", name, []))]) for name in ("orders", "customer")]
    result = run_turn(agent(*lines, "Done.", paths=["orders:add"]), "Go")
    assert [call.result.code for call in result.calls] == ["SUCCESS", "PAYLOAD_REFUSED"]


async def test_a_rule_that_is_none_stops_the_agent() -> None:
    async with wakeful.open(agent("x", paths=["a:wrtie"])) as app:
        with pytest.raises(ConfigError, match=r"payload.paths\[0\]: rule 'a:wrtie': unknown operation"):
            await app.send("agent", "Go")


def test_a_document_that_gets_too_long_is_refused() -> None:
    result = run_turn(agent(say(calls=[change(("new", "a", "x" * 100))]), "Done.", max_chars=50), "Go")
    assert result.calls[0].result.code == "PAYLOAD_TOO_LONG"


def test_trust_travels_with_what_is_taken_out() -> None:
    lines = [
        say(calls=[change(("new", "", {"mine": "own"}))]),
        say(calls=["web"]),
        say(calls=[change(("new", "theirs", "from outside"))]),
        say(
            calls=[("echo", {"text": {"$from": f"payload.{name}"}}) for name in ("mine", "theirs", "nothing")]
        ),
        "Done.",
    ]
    result = run_turn(agent(*lines), "Go")
    mine, theirs, nothing = result.calls[-3:]
    assert (mine.result.outputs, mine.result.trust) == ({"result": "own"}, Trust.TRUSTED)
    assert (theirs.result.outputs, theirs.result.trust) == ({"result": "from outside"}, Trust.UNTRUSTED)
    assert nothing.result.code == "NO_SUCH_VALUE"


@action(effect="read", output_trust="trusted", idempotent=True)
async def copies(ctx: ActionContext) -> ActionResult:
    """Put what a page says into the payload, in one step."""
    page = await ctx.call("web", {}, inner=0)
    wanted = {"op": "new", "path": "page", "value": page.outputs["text"]}
    return await ctx.call("change_payload", {"changes": [wanted]}, inner=1)


async def test_trust_travels_inside_of_a_call_too() -> None:
    subject = evolve(agent(say(calls=["copies"]), "Done."), actions=[web, copies])
    async with wakeful.open(subject) as app:
        await app.send("agent", "Go")
        query = select(plugin_state.c.value).where(plugin_state.c.plugin == "payload")
        held = json.loads(await app.store.read(lambda conn: conn.execute(query).scalar_one()))
    assert held["document"] == {"page": "from outside"}
    assert held["marks"] == [["page", int(Trust.UNTRUSTED), "https://example.org"]]


async def test_a_payload_is_given_with_a_turn_and_belongs_to_it() -> None:
    model = ScriptedModel(["One.", "Two."])
    subject = Agent(model=model, plugins=["payload"])
    async with wakeful.open(subject) as app:
        await app.send("agent", "Go", conversation="c", options={"payload": {"document": {"n": 1}}})
        await app.send("agent", "Go on", conversation="c")
    assert '{\\"n\\":1}' in state(model.requests[0])
    assert "payload: none" in state(model.requests[1])


async def test_a_sub_agent_is_given_one_and_writes_nowhere_unless_it_may() -> None:
    kids = [
        Agent(
            model=ScriptedModel([say(calls=[change(("update", "", {"seen": True}))]), "Looked."]),
            name=name,
            plugins=["payload"],
            settings={"payload": {"paths": paths}},
        )
        for name, paths in (("plain", []), ("writer", ["seen:add"]))
    ]
    calls = [(f"delegate_to_{kid.name}", {"message": "Look", "payload": {"n": 1}}) for kid in kids]
    top = Agent(model=ScriptedModel([say(calls=calls), "Done."]), name="top", sub_agents=kids)
    async with wakeful.open(top) as app:
        await app.send("top", "Go")
        query = select(action_call.c.action, action_call.c.code, action_call.c.result)
        found = {
            row.action: row
            for row in await app.store.read(
                lambda c: c.execute(query.where(action_call.c.action.like("delegate%"))).all()
            )
        }
        changes = await app.store.read(
            lambda c: (
                c.execute(select(action_call.c.code).where(action_call.c.action == "change_payload"))
                .scalars()
                .all()
            )
        )
    assert sorted(changes) == ["PAYLOAD_REFUSED", "SUCCESS"]
    assert '"payload":{"n":1,"seen":true}' in found["delegate_to_writer"].result
    assert "seen" not in found["delegate_to_plain"].result


async def test_the_records_keep_the_document_before_and_after_each_step() -> None:
    lines = [say(calls=[change(("new", "", {"n": 1}))]), say(calls=["web"]), "Done."]
    lines.insert(2, say(calls=[change(("update", "n", 2))]))
    async with wakeful.open(agent(*lines)) as app:
        await app.send("agent", "Go")
        query = select(step.c.payload_before, step.c.payload_after).order_by(step.c.number)
        kept = await app.store.read(lambda conn: [tuple(row) for row in conn.execute(query)])
    assert kept == [(None, '{"n":1}'), (None, None), ('{"n":1}', '{"n":2}'), (None, None)]
