"""What is recorded of each request: what it was made of and used, and where its prefix broke."""

from __future__ import annotations

import json
from typing import Any

from wakeful import Agent, hookimpl
from wakeful.store.records import get_run
from wakeful.testing import Database, ScriptedModel, say
from wakeful.types import Break, Draft, Fragment, PrefixBreak, Request, Run, Sent, Usage

USED = Usage(10, 5, 2, 8, 0.5, reasoning=3, write_1h=4)


class State:
    """Gives state."""

    @hookimpl
    def prompt_state(self, run: Run) -> Any:
        return [Fragment("step", 1, str(run.step))]


class Printing:
    """A layout that fingerprints, and breaks the prefix in every second request."""

    name = "printing"

    @hookimpl
    def prompt_layout(self) -> Any:
        return self

    def decide(self, agent: Any) -> Any:
        return None

    def compose(self, draft: Draft) -> Request:
        before = draft.previous
        change = Break("message 1", "was sent otherwise") if before else None
        sent = Sent(draft.rows[-1].seq, "c", {}, draft.view, draft.epoch.id)
        model, items = draft.epoch.declared.model, draft.rows[0].items
        return Request(model, (), ("Help.",), items, sent=sent, change=change)


async def test_usage_survives_the_store_part_by_part(wakeful_app: Any) -> None:
    silent = say("Two.", usage=Usage(reported=False))
    model = ScriptedModel([say("One.", usage=USED), silent])
    async with wakeful_app(Agent(model=model, plugins=[State])) as app:
        first = await app.send("agent", "Hi", conversation="c")
        second = await app.send("agent", "Hi", conversation="c")
        one = await app.store.read(lambda conn: get_run(conn, first.run_id))
        two = await app.store.read(lambda conn: get_run(conn, second.run_id))
    assert first.usage == one.run.usage == one.steps[0].usage == one.model_calls[0].usage == USED
    assert not two.model_calls[0].usage.reported
    assert not two.run.usage.reported
    prompt = one.model_calls[0].prompt
    assert prompt["characters"]["state"] == len("<runtime-state>\n## step\n1\n</runtime-state>")
    assert (prompt["epoch"], prompt["kept"], prompt["marks"]["tools"]) == (1, False, False)


def test_a_break_is_told_stored_and_priced(run_turn: Any, store: Database) -> None:
    agent = Agent(
        model=ScriptedModel([say("One.", usage=Usage(0, 90, 10, 5)), say("Two.", usage=Usage(30, 80, 0, 5))]),
        plugins=[Printing],
    )
    result = run_turn(agent, "Hi", "And again", conversation="c")
    (event,) = [event for event in result.events if isinstance(event, PrefixBreak)]
    assert event.change == Break("message 1", "was sent otherwise", lost=70)
    stored = [json.loads(row["prompt"]) for row in store.rows("select prompt from model_call order by id")]
    assert "change" not in stored[0]
    assert Break(**stored[1]["change"]) == event.change
