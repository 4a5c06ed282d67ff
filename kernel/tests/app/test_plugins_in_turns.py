"""What plugins are asked in a turn, what they may do, and what happens when they fail."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text as sql

from wakeful import ActionContext, Agent, action, hookimpl
from wakeful.testing import Database, Gate, ScriptedModel, say, shown
from wakeful.types import (
    Answer,
    ConfigError,
    Fragment,
    Notice,
    Run,
    RunStatus,
    Services,
)


@action(effect="read", output_trust="trusted")
async def ping() -> str:
    """Ping."""
    return "pong"


def names(events: list[Any]) -> list[str]:
    return [type(event).__name__ for event in events]


async def heard(stream: Any) -> list[Any]:
    return [event async for event in stream]


# ---- what plugins are asked on the way


async def test_state_that_fails_is_left_out_and_noticed(wakeful_app: Any, store: Database) -> None:
    class Good:
        @hookimpl
        def prompt_state(self) -> Any:
            return [Fragment("time", 1, "nine")]

    class Bad:
        @hookimpl
        def prompt_state(self) -> Any:
            raise ValueError("no clock")

    model = ScriptedModel(["Done."])
    async with wakeful_app(Agent(model=model, plugins=[Bad(), Good()])) as app:
        events = await heard(app.stream("agent", "Go"))
    assert shown(model.requests[0].items[-1]) == "<runtime-state>\n## time\nnine\n</runtime-state>"
    (notice,) = [event for event in events if isinstance(event, Notice)]
    assert notice.source == "bad"
    assert "no clock" in notice.message


async def test_context_is_placed_in_fixed_order_whoever_answers_first(wakeful_app: Any) -> None:
    gates: list[Gate] = []

    class Memory:
        def __init__(self, place: int) -> None:
            self.place, self.name = place, f"memory{place}"

        @hookimpl
        async def prompt_context(self, run: Run) -> Any:
            await gates[self.place].wait()
            gates[1 - self.place].open()
            return [Fragment(self.name, self.place, f"fact {self.place}")]

    class Lost:
        @hookimpl
        async def prompt_context(self) -> Any:
            raise ConnectionError("no memory")

    for first in (0, 1):
        gates[:] = [Gate(), Gate()]
        gates[first].open()
        model = ScriptedModel([say(calls=["ping"]), "Done."])
        agent = Agent(model=model, actions=[ping], plugins=[Memory(1), Lost(), Memory(0)])
        async with wakeful_app(agent) as app:
            events = await heard(app.stream("agent", "Go", conversation=f"c{first}"))
        block = "<runtime-state>\n## memory0\nfact 0\n\n## memory1\nfact 1\n</runtime-state>"
        assert [shown(request.items[-1]) for request in model.requests] == [block, block]
        assert ["no memory" in event.message for event in events if isinstance(event, Notice)] == [True]


async def test_an_observer_that_fails_is_noticed_after_the_answer_is_stored(
    wakeful_app: Any, store: Database
) -> None:
    seen: list[Any] = []

    class Observes:
        @hookimpl
        async def turn_ended(self, run: Run, answer: Answer) -> None:
            seen.append((run.status, answer.text, store.rows("select text from run")[0]["text"]))

    class Fails:
        @hookimpl
        async def turn_ended(self) -> None:
            raise OSError("no paper")

    agent = Agent(model=ScriptedModel(["Done."]), plugins=[Fails(), Observes()])
    async with wakeful_app(agent) as app:
        events = await heard(app.stream("agent", "Go"))
    assert seen == [(RunStatus.COMPLETED, "Done.", "Done.")]
    assert names(events)[-2:] == ["Notice", "RunEnded"]
    assert "plugin 'fails' failed in turn_ended: OSError: no paper" in events[-2].message


async def test_a_layout_that_fails_fails_the_run_and_names_its_plugin(
    wakeful_app: Any, store: Database
) -> None:
    class Layout:
        name = "layout"

        @hookimpl
        def prompt_layout(self) -> Any:
            return self

        def decide(self, agent: Any) -> None:
            return None

        def compose(self, draft: Any) -> Any:
            raise IndexError("no room")

    async with wakeful_app(Agent(model=ScriptedModel([]), plugins=[Layout()])) as app:
        answer = await app.send("agent", "Go")
    assert answer.status is RunStatus.FAILED
    assert answer.error == "plugin 'layout' failed in prompt_layout: IndexError: no room"
    assert store.rows("select status from run") == [{"status": "failed"}]


async def test_two_fillers_of_a_slot_stop_the_agent_and_are_both_named(wakeful_app: Any) -> None:
    class Marks:
        def __init__(self, name: str) -> None:
            self.name = name

        @hookimpl
        def result_envelope(self) -> Any:
            return self

        def wrap(self, text: str, trust: Any, source: str, nonce: str) -> str:
            return text

    agent = Agent(model=ScriptedModel([]), plugins=[Marks("red"), Marks("blue")])
    async with wakeful_app(agent) as app:
        (problem,) = app.problems("agent")
        assert "'red' and 'blue'" in str(problem)
        with pytest.raises(ConfigError, match="result_envelope"):
            await app.send("agent", "Go")


async def test_two_actions_of_one_tool_name_stop_the_agent(wakeful_app: Any) -> None:
    class Brings:
        @hookimpl
        def tool_actions(self) -> Any:
            return [ping]

    async with wakeful_app(Agent(model=ScriptedModel([]), actions=[ping], plugins=[Brings()])) as app:
        (problem,) = app.problems("agent")
    assert "'ping'" in str(problem)
    assert "'brings'" in str(problem)


# ---- what plugins may do


async def test_plugin_state_is_bound_to_its_plugin_and_applied_in_call_order(
    wakeful_app: Any, store: Database
) -> None:
    @action(effect="write", output_trust="trusted", tool_name="note")
    async def note(word: str, ctx: ActionContext) -> list[Any]:
        """Note a word.

        Args:
            word: what.
            ctx: where notes are kept.
        """
        before = ctx.get("last", "nothing")
        ctx.put("last", word)
        return [before, ctx.get("last")]

    class Notes:
        @hookimpl
        def tool_actions(self) -> Any:
            return [note]

    calls = [("note", {"word": word}) for word in ("a", "b", "c")]
    model = ScriptedModel([say(calls=calls), say(calls=calls[:1]), "Done."])
    async with wakeful_app(Agent(model=model, plugins=[Notes()])) as app:
        await app.send("agent", "Go", conversation="c")
    assert store.rows("select plugin, key, value from plugin_state") == [
        {"plugin": "notes", "key": "last", "value": '"a"'}
    ]
    texts = [shown(item) for item in model.requests[2].items if hasattr(item, "call_id")]
    assert ['"nothing","a"' in texts[0], '"nothing","b"' in texts[1]] == [True, True]
    assert '"c","a"' in texts[3]  # the last write of the first step is what the second one reads


async def test_a_plugin_asks_the_model_and_the_question_adds_no_rows(
    wakeful_app: Any, store: Database
) -> None:
    class Asks:
        name = "asks"

        def __init__(self, settings: None, services: Services) -> None:
            self.services = services

        @hookimpl
        async def turn_ended(self, run: Run) -> None:
            reply = await self.services.ask(run, "title", "Give a title.")
            await self.services.save(run, {"title": shown(reply.items[0])})

    model = ScriptedModel(["Done.", say("A fine day", usage={"output": 3}), "Again."])
    async with wakeful_app(Agent(model=model, plugins=[Asks])) as app:
        await app.send("agent", "Go", conversation="c")
        title = store.rows("select plugin, key, value from plugin_state")
    assert title == [{"plugin": "asks", "key": "title", "value": '"A fine day"'}]
    assert [shown(item) for item in model.requests[1].items] == ["Go", "Done.", "Give a title."]
    assert model.requests[1].tools == model.requests[0].tools
    assert [row["kind"] for row in store.rows("select kind from message order by seq")] == [
        "user",
        "assistant",
    ]
    calls = store.rows("select kind, tokens_output from model_call order by id")
    assert calls[1] == {"kind": "title", "tokens_output": 3}


async def test_a_plugin_reads_the_store_and_saves_for_later_turns(wakeful_app: Any) -> None:
    seen: list[Any] = []

    class Counts:
        name = "counts"

        def __init__(self, settings: None, services: Services) -> None:
            self.services = services

        @hookimpl
        async def prompt_context(self, run: Run) -> Any:
            ((rows,),) = await self.services.read(sql("select count(*) from message"))
            seen.append((rows, run.state.get("counts", {}).get("rows")))
            await self.services.save(run, {"rows": rows})
            return ()

    async with wakeful_app(Agent(model=ScriptedModel(["One.", "Two."]), plugins=[Counts])) as app:
        await app.send("agent", "a", conversation="c")
        await app.send("agent", "b", conversation="c")
    assert seen == [(1, None), (3, 1)]
