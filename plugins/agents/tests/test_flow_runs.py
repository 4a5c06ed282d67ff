"""Flows as runs: what they do, what they record, and how they end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from sqlalchemy import func, select

import wakeful
from plugins.agents.tests.twenty import Says, agent
from plugins.agents.tests.twenty import answer as expected
from plugins.agents.tests.twenty import flow as write_flow
from tests.toys import Desk
from wakeful import ActionResult, Agent, action
from wakeful.loop.transcript import load_rows
from wakeful.store.tables import action_call, model_call, run, step
from wakeful.testing import ScriptedModel, run_turn, say
from wakeful.types import Answer, ConfigError, Limits, RowKind, RunStatus, Text, Trust


@action(effect="read", output_trust="trusted")
async def rows(count: int = 3) -> list[dict[str, int]]:
    """Give rows."""
    return [{"id": number} for number in range(count)]


@action(effect="fetch")
async def web() -> ActionResult:
    """Read a page."""
    return ActionResult(outputs={"text": "from outside"}, source="https://example.org")


@action(effect="read", output_trust="trusted")
async def echo(text: str | int, more: dict[str, Any] | int | None = None) -> str | int:
    """Say it again."""
    if text == 1:
        raise wakeful.ActionError("ONE", "no ones")
    return text


@action(effect="write", output_trust="trusted")
async def pay(euros: int) -> str:
    """Pay; the desk holds more than 50."""
    return f"paid {euros}"


def flow(folder: Path, text: str, *lines: Any, **of: Any) -> Agent:
    (folder / "flow.toml").write_text(text)
    return Agent(
        model=ScriptedModel(list(lines)),
        actions=[rows, web, echo],
        plugins=["flow", *of.pop("plugins", ())],
        type="flow",
        folder=folder,
        **of,
    )


async def turn(subject: Agent, **of: Any) -> tuple[Answer, Any]:
    async with wakeful.open(subject) as app:
        answer = await app.send("agent", "Go", conversation="c", **of)
        rows_of = await app.store.read(lambda conn: load_rows(conn, "c"))
        return answer, rows_of


async def test_twenty_steps_with_one_prompt_and_one_sub_agent(tmp_path: Path) -> None:
    model = Says("In short.")
    async with wakeful.open(agent("sqlite://", model=model)) as app:
        answer = await app.send("agent", "Go", conversation="c")
        assert (answer.text, answer.status, answer.error) == (expected(), RunStatus.COMPLETED, "")
        assert model.asked == 1
        mine = select(step.c.type, step.c.name).where(step.c.run_id == answer.run_id)
        steps = await app.store.read(lambda conn: conn.execute(mine.order_by(step.c.number)).all())
        asked = select(func.count(model_call.c.id)).where(model_call.c.run_id == answer.run_id)
        assert await app.store.read(lambda conn: conn.execute(asked).scalar_one()) == 1
        inner = select(func.count()).where(action_call.c.parent.is_not(None), action_call.c.status == "done")
        assert await app.store.read(lambda conn: conn.execute(inner).scalar_one()) == 1000
        tree = select(run.c.parent_run, run.c.agent).where(run.c.parent_run.is_not(None))
        assert await app.store.read(lambda conn: [tuple(row) for row in conn.execute(tree)]) == [
            (answer.run_id, "checker")
        ]
    names = [name for _, name in steps]
    assert names[:6] == ["s01", "s02", "s04", "s05", "s06", "s06"]  # branches are no steps
    assert [kind for kind, name in steps if name == "s10"] == ["model"]
    assert {kind for kind, name in steps if name != "s10"} == {"flow"}


async def test_the_rows_of_a_loop_stay_out_of_the_transcript(tmp_path: Path) -> None:
    text = """
        [steps.a]
        action = "rows"
        output = { all = "outputs.result" }
        next = "b"
        [steps.b]
        for_each = "payload.all"
        action = "echo"
        args = { text = "item.id", more = "index" }
        output = { got = "results", bad = "errors" }
        """
    answer, written = await turn(flow(tmp_path, text))
    assert answer.status is RunStatus.COMPLETED
    results = [row for row in written if row.kind is RowKind.RESULT]
    assert len(results) == 2
    assert "processed: 3, errors: 1" in results[1].text


async def test_a_failing_item_fails_the_step_unless_its_errors_are_wanted(tmp_path: Path) -> None:
    text = """
        payload = { all = [0, 1, 2] }
        [steps.b]
        for_each = "payload.all"
        action = "echo"
        args = { text = "item" }
        output = { got = "results" }
        """
    answer, _ = await turn(flow(tmp_path, text))
    assert answer.status is RunStatus.FAILED
    said = "for_each payload.all: processed: 3, errors: 1; the first in [1]: ONE: no ones"
    assert answer.error == f"step b: LOOP_ERRORS: {said}"


async def test_what_is_not_trusted_stays_so_on_its_way_through_the_payload(tmp_path: Path) -> None:
    text = """
        answer = "{payload.again}"
        [steps.a]
        action = "web"
        output = { page = "outputs.text" }
        next = "b"
        [steps.b]
        action = "echo"
        args = { text = "payload.page", more = { deep = ["payload.page"] } }
        output = { again = "outputs.result" }
        next = "c"
        [steps.c]
        for_each = "payload.list"
        action = "echo"
        args = { text = "payload.again" }
        """
    subject = flow(tmp_path, "payload = { list = [1] }\n" + text)
    async with wakeful.open(subject) as app:
        answer = await app.send("agent", "Go", conversation="c")
        query = select(
            action_call.c.action, action_call.c.provenance, action_call.c.args, action_call.c.result
        )
        query = query.where(action_call.c.action == "echo").order_by(action_call.c.key)
        calls = await app.store.read(lambda conn: conn.execute(query).all())
    assert answer.text == "from outside"
    assert len(calls) == 2
    for call in calls:
        assert "https://example.org" in call.provenance or "example.org" in call.result
        assert '"text":"from outside"' in call.args
        assert f'"trust":{int(Trust.UNTRUSTED)}' in call.result


@action(effect="fetch")
async def broken(number: int) -> ActionResult:
    """Fail with a text from outside."""
    return ActionResult(success=False, code="NO_LUCK", message="from outside", source="https://example.org")


async def test_what_went_wrong_outside_is_no_more_trusted(tmp_path: Path) -> None:
    text = """
        payload = { list = [1, 2] }
        [steps.a]
        for_each = "payload.list"
        action = "broken"
        args = { number = "item" }
        output = { count = "count", bad = "errors" }
        next = "b"
        [steps.b]
        action = "echo"
        args = { text = "payload.bad[1].message" }
        """
    subject = flow(tmp_path, text)
    async with wakeful.open(evolve(subject, actions=[broken, echo])) as app:
        answer = await app.send("agent", "Go")
        query = select(action_call.c.result).where(action_call.c.action == "echo")
        result = await app.store.read(lambda conn: conn.execute(query).scalar_one())
    assert answer.error == ""
    assert '"result":"from outside"' in result
    assert f'"trust":{int(Trust.UNTRUSTED)}' in result
    assert "https://example.org" in result


async def test_a_prompt_step_may_call_tools_and_give_json(tmp_path: Path) -> None:
    text = """
        answer = "{payload.city}"
        [steps.a]
        prompt = "Which city? Answer in JSON."
        output = { city = "json.city" }
        """
    lines = [say(calls=["rows"]), '```json\n{"city": "Oslo"}\n```']
    answer, written = await turn(flow(tmp_path, text, *lines))
    assert answer.text == "Oslo"
    assert [row.text for row in written if row.kind is RowKind.NOTE] == ["Which city? Answer in JSON."]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[steps.a]\naction = "echo"\nargs = { text = 1 }', "step a: ONE: no ones"),
        ('[steps.a]\naction = "echo"\nargs = { text = "payload.x" }', "step a: nothing stands at payload.x"),
        (
            '[steps.a]\naction = "rows"\noutput = { x = "outputs.y" }',
            "step a: gave no outputs.y",
        ),
        ('[steps.a]\nprompt = "Hm?"\noutput = { x = "json.y" }', "step a: gave no json.y"),
        ('answer = "{payload.x}"\n[steps.a]\naction = "rows"', "answer: nothing stands at payload.x"),
        (
            '[steps.a]\naction = "echo"\nargs = { text = "payload.x" }\non_error = "a"',
            "step a: the flow goes in a circle in which nothing is done",
        ),
        (
            '[steps.a]\nwhile = "true"\nmax = 2\naction = "rows"',
            "step a: 'true' still holds after 2 iterations",
        ),
        (
            '[steps.a]\nbranch = [{ when = "payload.x > 1", next = "end" }, { next = "end" }]',
            "step a: 'payload.x > 1' cannot be decided",
        ),
    ],
)
async def test_a_flow_that_fails_says_where(tmp_path: Path, text: str, said: str) -> None:
    answer, _ = await turn(flow(tmp_path, text, "no json"))
    assert answer.status is RunStatus.FAILED
    assert answer.error.startswith(said)


async def test_a_sub_agent_is_asked_as_long_as_a_condition_holds(tmp_path: Path) -> None:
    text = """
        payload = { said = ["first"] }
        answer = "{payload.said}"
        [steps.a]
        while = "len(payload.said) < 3"
        sub_agent = "kid"
        message = "Go on from {payload.said}, {index}."
        output = { "said[+]" = "text" }
        """
    model = ScriptedModel(["more"])
    answer, _ = await turn(flow(tmp_path, text, sub_agents=[Agent(model=model, name="kid")]))
    assert (answer.text, answer.error) == ('["first", "more", "more"]', "")
    asked = [request.items[0].text for request in model.requests if isinstance(request.items[0], Text)]
    assert asked == ['Go on from ["first"], 0.', 'Go on from ["first", "more"], 1.']


async def test_a_flow_that_was_changed_under_a_run_says_so(tmp_path: Path) -> None:
    parts = '[steps.{0}]\naction = "pay"\nargs = {{ euros = 100 }}'
    store = f"sqlite:///{tmp_path / 'wakeful.db'}"

    def subject(name: str) -> Agent:
        made = flow(tmp_path, parts.format(name), plugins=[Desk], store=store)
        return evolve(made, actions=[pay])

    async with wakeful.open(subject("before")) as app:
        answer = await app.send("agent", "Go")
    async with wakeful.open(subject("after")) as app:
        await app.approvals.approve(answer.pending[0], by="ana")
        answer = await app.resume(answer.run_id)
    assert answer.error == "the run is at step 'before', which the flow no longer has"


async def test_a_given_payload_and_the_limit_of_steps(tmp_path: Path) -> None:
    text = """
        answer = "{payload.n}"
        [steps.a]
        while = "payload.n > 0"
        action = "rows"
        """
    subject = flow(tmp_path, text, limits=Limits(steps=4))
    answer, _ = await turn(subject, options={"payload": {"document": {"n": 1}}})
    assert (answer.status, answer.error) == (RunStatus.LIMIT_REACHED, "the limit of 4 steps")
    answer, _ = await turn(subject, options={"payload": {"document": {"n": 0}}})
    assert (answer.status, answer.text) == (RunStatus.COMPLETED, "0")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('action = "row"', "flow.toml: steps.a.action: the agent has no action 'row'; did you mean 'rows'?"),
        ('action = "rows"\nargs = { cuont = 1 }', "steps.a.args.cuont: rows takes no such argument"),
        ('action = "echo"', "steps.a.args: echo needs the argument 'text'"),
        ('action = "rows"\nargs = { count = "many" }', "steps.a.args.count:"),
        ('sub_agent = "x"\nmessage = "Go"', "steps.a.sub_agent: the agent has no sub-agent 'x'"),
        ('action = "rows"\nnext = "b"', "steps.a.next: there is no step 'b'"),
    ],
)
async def test_a_flow_that_does_not_fit_stops_the_agent(tmp_path: Path, text: str, said: str) -> None:
    async with wakeful.open(flow(tmp_path, f"[steps.a]\n{text}")) as app:
        with pytest.raises(ConfigError) as caught:
            await app.send("agent", "Go")
    assert said in str(caught.value)


def test_the_command_line_shows_steps_and_what_runs_below(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'wakeful.db'}"
    result = run_turn(agent(store, file=write_flow(tmp_path, 3)), "Go", agent="agent")
    assert result.answer.status is RunStatus.COMPLETED
    (tmp_path / "wakeful.toml").write_text(
        f'[store]\nurl = "{store}"\n[agents.agent]\nmodel = "scripted:x"\n'
    )
    shown = subprocess.run(
        [sys.executable, "-m", "wakeful", "runs", "show", result.answer.run_id],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    assert "step 1 · closed · flow s01 because of" in shown
    assert "agent checker, completed, 1 steps" in shown
