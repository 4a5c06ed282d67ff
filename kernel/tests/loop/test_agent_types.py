"""Types that decide the steps of a turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from attrs import define, field
from sqlalchemy import func, select

import wakeful
from wakeful import Agent, action, hookimpl
from wakeful.app.definition import blueprint
from wakeful.config import AgentConfig
from wakeful.store.tables import model_call, step
from wakeful.testing import ScriptedModel
from wakeful.types import (
    Action,
    AgentView,
    Ask,
    Call,
    ConfigError,
    Finish,
    Limits,
    Next,
    Problem,
    Propose,
    RowKind,
    Run,
    RunStatus,
    Stepped,
    Wait,
    canonical,
)


@action(effect="read", output_trust="trusted")
async def ping(word: str = "") -> str:
    """Ping."""
    return f"pong {word}"


@action(effect="read", output_trust="trusted")
async def secret_way() -> str:
    """Reached by the type alone."""
    return "through"


Decides = Callable[[Run, Stepped | None], Next]


@define(eq=False)
class Scripted:
    """An agent type that asks a function."""

    decide: Decides
    name: str = "scripted"
    told: list[Stepped | None] = field(factory=list)
    released: list[str] = field(factory=list)
    wrong: Sequence[Problem] = ()

    def problems(self, agent: AgentView, actions: Mapping[str, Action]) -> Sequence[Problem]:
        return self.wrong

    def actions(self) -> Sequence[Action]:
        return [secret_way]

    async def next_step(self, run: Run, last: Stepped | None) -> Next:
        self.told.append(last)
        return self.decide(run, last)

    async def release(self, run_id: str) -> None:
        self.released.append(run_id)


class Types:
    name = "types"

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    @hookimpl
    def agent_types(self) -> Sequence[Any]:
        return [self.kind]


def agent(kind: Scripted, *lines: Any, type: str = "scripted", limits: Limits = Limits()) -> Agent:  # noqa: A002, B008  (the setting's name; frozen)
    return Agent(
        model=ScriptedModel(list(lines)), actions=[ping], plugins=[Types(kind)], limits=limits, type=type
    )


def call(tool: str, number: int = 1, **args: str) -> Call:
    return Call(f"c{number}", tool, canonical(args))


async def answer(subject: Agent) -> Any:
    async with wakeful.open(subject) as app:
        given = await app.send("agent", "Go", conversation="c")
        steps = select(step.c.type, step.c.name, step.c.status).order_by(step.c.number)
        asked = select(func.count(model_call.c.id))
        rows = await app.store.read(lambda conn: conn.execute(steps).all())
        calls = await app.store.read(lambda conn: conn.execute(asked).scalar_one())
        return given, [tuple(row) for row in rows], calls


async def test_a_turn_without_any_model() -> None:
    def decide(run: Run, last: Stepped | None) -> Next:
        if last is None:
            return Propose((call("ping", word="a"), call("secret_way", 2)), "Two at once.", "first")
        if last.calls:
            assert [did.result.outputs["result"] for did in last.did] == ["pong a", "through"]
            assert last.proposed
            return Finish("All done.")
        return Finish()

    kind = Scripted(decide)
    given, steps, asked = await answer(agent(kind))
    assert (given.text, given.status) == ("All done.", RunStatus.COMPLETED)
    assert steps == [("scripted", "first", "closed"), ("scripted", "answer", "closed")]
    assert asked == 0
    assert kind.released == [given.run_id]


async def test_asking_the_model_with_words_of_the_kernels() -> None:
    def decide(run: Run, last: Stepped | None) -> Next:
        if last is None:
            return Ask("Say hello.", "greet", {"types": {"at": 1}})
        assert run.state["types"] == {"at": 1}
        notes = [row for row in run.rows if row.kind is RowKind.NOTE]
        assert [row.text for row in notes] == ["Say hello."]
        assert run.user_words == "Go"
        return Finish()

    given, steps, asked = await answer(agent(Scripted(decide), "Hello!"))
    assert given.text == "Hello!"
    assert steps == [("model", "greet", "closed")]
    assert asked == 1


async def test_a_model_does_not_reach_the_types_own_actions() -> None:
    def decide(run: Run, last: Stepped | None) -> Next:
        return Ask() if last is None or last.calls else Finish()

    kind = Scripted(decide)
    lines = [wakeful.testing.say(calls=["secret_way", "ping"]), "Done."]
    given, _, _ = await answer(agent(kind, *lines))
    assert given.text == "Done."
    assert [did.result.code for did in kind.told[1].did] == ["UNKNOWN_TOOL", "SUCCESS"]  # type: ignore[union-attr]  # a Step, and no None


async def test_limits_hold_for_steps_without_a_model() -> None:
    kind = Scripted(lambda run, last: Propose((call("ping", run.step),)))
    given, steps, _ = await answer(agent(kind, limits=Limits(steps=3)))
    assert given.status is RunStatus.LIMIT_REACHED
    assert given.error == "the limit of 3 steps"
    assert len(steps) == 3


@pytest.mark.parametrize(
    ("decide", "said"),
    [
        (lambda run, last: Finish(error="no way out"), "no way out"),
        (lambda run, last: Wait(), "nobody was asked"),
        (lambda run, last: Propose(()), "proposed a step without calls"),
        (lambda run, last: "next", "expected Ask, Propose, Finish or Wait"),
        (lambda run, last: 1 / 0, "plugin 'types' failed in agent_types: ZeroDivisionError"),
    ],
)
async def test_a_type_that_fails(decide: Decides, said: str) -> None:
    kind = Scripted(decide)
    given, _, _ = await answer(agent(kind))
    assert given.status is RunStatus.FAILED
    assert said in given.error
    assert kind.released == [given.run_id]


async def test_an_unknown_type_and_advice_for_the_configuration() -> None:
    kind = Scripted(lambda run, last: Finish("x"), wrong=[Problem("plugins.types", "no file")])
    for name, said in (("scriptd", "did you mean 'scripted'"), ("scripted", "plugins.types: no file")):
        async with wakeful.open(agent(kind, type=name)) as app:
            with pytest.raises(ConfigError, match=said):
                await app.send("agent", "Go")


def test_the_type_is_part_of_the_configuration() -> None:
    assert blueprint(Agent(model="x:y", type="flow")).config.type == "flow"
    assert AgentConfig("a", "x:y").type == "loop"
