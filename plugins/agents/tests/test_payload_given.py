"""A document in a shape that nobody would read is refused before anything of the turn is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

import wakeful
from wakeful import Agent, App
from wakeful.store.tables import conversation, message, run
from wakeful.store.work import inbox, work_item
from wakeful.testing import ScriptedModel, shown
from wakeful.types import ConfigError, Trust

FLOW = 'answer = "n is {payload.n}"\n\n[steps.first]\nbranch = [{ next = "end" }]\n'
WRONG = [
    ([1], "options.payload: expected an object, got a list"),
    ("n", 'options.payload: expected an object, got the string "n"'),
    (None, "options.payload: expected an object, got nothing"),
    ({}, "options.payload.document: missing; expected the document, which is any JSON"),
    ({"document": {"n": {1}}}, "options.payload: expected what JSON can express; "),
    ({"document": {"n": float("nan")}}, "options.payload: expected what JSON can express; "),
    (
        {"documnt": {"n": 1}, "document": 1},
        "options.payload.documnt: unknown key; did you mean 'document'?; the document itself stands under",
    ),
    ({"document": 1, "marks": "n"}, "options.payload.marks: expected a list of marks, got 'n'"),
    (
        {"document": 1, "marks": [["n", 2, "web"], ["n", 2]]},
        "options.payload.marks[1]: expected a list of path, trust and source, got ['n', 2]",
    ),
    (
        {"document": 1, "marks": [["n", 3, "web"]]},
        "options.payload.marks[0]: expected a list of path, trust and source; the trust is one of",
    ),
    ({"document": 1, "marks": [["n[", 2, "web"]]}, "options.payload.marks[0]: "),
    ({"document": 1, "marks": [[0, 2, "web"]]}, "options.payload.marks[0]: "),
    ({"document": 1, "marks": [["n", 2, None]]}, "options.payload.marks[0]: "),
]


def agent(kind: str, folder: Path) -> Agent:
    (folder / "flow.toml").write_text(FLOW)
    of: dict[str, Any] = {"type": "flow"} if kind == "flow" else {}
    return Agent(model=ScriptedModel(["Done."]), plugins=[kind], folder=folder, **of)


async def stored(app: App) -> int:
    """Return how many rows there are of anything that a turn stores first."""
    queries = [select(func.count()).select_from(t) for t in (conversation, message, run, inbox, work_item)]
    return await app.store.read(lambda conn: sum(conn.execute(query).scalar_one() for query in queries))


@pytest.mark.parametrize("kind", ["payload", "flow"])
@pytest.mark.parametrize(("given", "what"), WRONG)
async def test_a_wrong_shape_is_one_clear_error_and_no_run(
    kind: str, given: Any, what: str, tmp_path: Path
) -> None:
    subject = agent(kind, tmp_path)
    async with wakeful.open(subject) as app:
        with pytest.raises(ConfigError) as sent:
            await app.send("agent", "Go", options={"payload": given})
        with pytest.raises(ConfigError) as streamed:
            [event async for event in app.stream("agent", "Go", options={"payload": given})]
        assert await stored(app) == 0
    assert str(sent.value) == str(streamed.value)
    assert str(sent.value).startswith(what)
    assert isinstance(subject.model, ScriptedModel)
    assert subject.model.requests == []


async def test_everything_that_is_wrong_is_told_once(tmp_path: Path) -> None:
    subject = Agent(model=ScriptedModel([]), plugins=["payload", "flow"], folder=tmp_path)
    async with wakeful.open(subject) as app:
        with pytest.raises(ConfigError) as caught:
            await app.send("agent", "Go", options={"payload": {"n": 1, "marks": 2}})
    assert [problem.where for problem in caught.value.problems] == [
        "options.payload.n",
        "options.payload.document",
        "options.payload.marks",
    ]


@pytest.mark.parametrize("marks", [[], [["n", 2, "web"]], (("n", Trust.UNTRUSTED, "web"),)])
async def test_what_is_right_goes_through(marks: Any, tmp_path: Path) -> None:
    subject = agent("payload", tmp_path)
    async with wakeful.open(subject) as app:
        given = {"payload": {"document": {"n": 1}, "marks": marks}}
        assert (await app.send("agent", "Go", options=given)).text == "Done."
        worst = await app.store.read(
            lambda conn: conn.execute(select(func.max(message.c.trust))).scalar_one()
        )
    assert worst == (Trust.UNTRUSTED if marks else Trust.TRUSTED)
    assert isinstance(subject.model, ScriptedModel)
    assert '{"n":1}' in shown(subject.model.requests[0].items[-1])


@pytest.mark.parametrize("document", [None, 0, [], "text", {}])
async def test_any_json_is_a_document(document: Any, tmp_path: Path) -> None:
    async with wakeful.open(agent("payload", tmp_path)) as app:
        answer = await app.send("agent", "Go", options={"payload": {"document": document}})
    assert answer.text == "Done."


async def test_a_flow_begins_with_it(tmp_path: Path) -> None:
    async with wakeful.open(agent("flow", tmp_path)) as app:
        answer = await app.send("agent", "Go", options={"payload": {"document": {"n": 7}}})
    assert answer.text == "n is 7"


async def test_who_has_no_payload_lets_it_pass(tmp_path: Path) -> None:
    subject = Agent(model=ScriptedModel(["Done."]), folder=tmp_path)
    async with wakeful.open(subject) as app:
        assert (await app.send("agent", "Go", options={"payload": {"n": 1}})).text == "Done."
