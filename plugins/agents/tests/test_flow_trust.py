"""How far what a flow says may be believed."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve
from sqlalchemy import select

import wakeful
from plugins.agents.tests.test_flow_runs import broken, flow, turn
from wakeful import Agent
from wakeful.loop.transcript import load_rows
from wakeful.store.tables import run
from wakeful.testing import ScriptedModel
from wakeful.types import RowKind, Trust


async def test_a_loop_is_trusted_no_further_than_what_failed_in_it(tmp_path: Path) -> None:
    text = """
        payload = { list = [1, 2] }
        [steps.a]
        for_each = "payload.list"
        action = "broken"
        args = { number = "item" }
        """
    answer, written = await turn(evolve(flow(tmp_path, text), actions=[broken]))
    (result,) = [row for row in written if row.kind is RowKind.RESULT]
    assert "NO_LUCK: from outside" in answer.error
    assert "NO_LUCK: from outside" in result.text
    assert (result.trust, result.source) == (Trust.UNTRUSTED, "https://example.org")


async def test_a_task_is_trusted_no_further_than_what_stands_in_its_words(tmp_path: Path) -> None:
    text = """
        [steps.a]
        sub_agent = "kid"
        message = "Look at {payload.page}."
        """
    subject = flow(tmp_path, text, sub_agents=[Agent(model=ScriptedModel(["Looked."]), name="kid")])
    given = {"document": {"page": "this"}, "marks": [["page", int(Trust.UNTRUSTED), "https://example.org"]]}
    async with wakeful.open(subject) as app:
        answer = await app.send("agent", "Go", options={"payload": given})
        below = select(run.c.conversation_id).where(run.c.parent_run == answer.run_id)
        kid = await app.store.read(lambda conn: conn.execute(below).scalar_one())
        first = (await app.store.read(lambda conn: load_rows(conn, kid)))[0]
    assert first.text == "Look at this."
    assert (first.trust, first.source) == (Trust.UNTRUSTED, "https://example.org")
