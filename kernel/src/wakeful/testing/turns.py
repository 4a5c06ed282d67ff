"""Whole turns for users without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen
from sqlalchemy import func, select

from wakeful.app import Agent
from wakeful.app import open as open_app
from wakeful.loop.transcript import load_rows
from wakeful.store.tables import run
from wakeful.testing.clock import FakeClock
from wakeful.testing.ids import FakeIds
from wakeful.testing.models import Line, ScriptedModel
from wakeful.types import (
    ActionEnded,
    Answer,
    Clock,
    ConfigError,
    Event,
    IdSource,
    Request,
    Row,
    RunEnded,
)


@frozen
class TurnResult:
    """What one or more turns of a conversation gave.

    Args:
        answers: one for each turn.
        events: of all turns, in order.
        rows: the conversation's transcript.
        requests: what the scripted model was asked; empty for another model.
    """

    answers: tuple[Answer, ...]
    events: tuple[Event, ...]
    rows: tuple[Row, ...]
    requests: tuple[Request, ...]

    @property
    def answer(self) -> Answer:
        """The answer of the last turn."""
        return self.answers[-1]

    @property
    def calls(self) -> tuple[ActionEnded, ...]:
        """Every call with its result, in call order."""
        return tuple(event for event in self.events if isinstance(event, ActionEnded))


def run_turn(
    subject: Agent | object | str | Path,
    *texts: str,
    replies: Sequence[Line] | None = None,
    agent: str = "",
    conversation: str = "",
    user: str = "",
    clock: Clock | None = None,
    ids: IdSource | None = None,
    store: str = "sqlite://",
) -> TurnResult:
    """Run turns of one conversation and return everything about them.

    ::

        result = run_turn(Hello(), "Say hello", replies=[say(calls=[("greet", {"who": "Ada"})]), "Done."])
        assert result.calls[0].result.outputs == {"result": "Hello, Ada!"}

    Args:
        subject: an ``Agent``; the path of a ``wakeful.toml``; or a plugin (an object, a class, or the name
            of an installed one) for an agent that has nothing else.
        texts: the input of each turn.
        replies: what a scripted model answers, see :class:`ScriptedModel`; needed unless the agent has a
            model of its own.
        agent: which agent of a file; may be left out if there is one.
        conversation: id of the conversation; by default a new one.
        user: the user of the turns.
        clock: fake by default.
        ids: fake by default.
        store: database for a plugin's agent; by default in memory.

    Raises:
        RuntimeError: called where an event loop runs; use ``wakeful.open`` there.
        WakefulError: the agent could not be built, or a turn could not be run.
    """
    _outside_a_loop()
    if not texts:
        raise ValueError("run_turn needs the text of at least one turn")
    model = None if replies is None else ScriptedModel(list(replies))
    source = _agent(subject, model, store)
    work = _run(source, agent, texts, model, conversation, user, clock or FakeClock(), ids or FakeIds())
    return asyncio.run(work)


def at_home(subject: Any, store: str, folder: Path) -> Any:
    """Return an agent with a database and a folder of the test, unless it has its own; others unchanged."""
    if not isinstance(subject, Agent):
        return subject
    own = Agent(model="")
    return evolve(
        subject,
        store=store if subject.store == own.store else subject.store,
        folder=folder if subject.folder is None else subject.folder,
    )


def _outside_a_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("run_turn starts an event loop of its own; in an async test use wakeful.open")


def _agent(subject: Any, model: ScriptedModel | None, store: str) -> Agent | Path:
    if isinstance(subject, Agent):
        return subject
    if isinstance(subject, Path) or (isinstance(subject, str) and subject.endswith(".toml")):
        return Path(subject)
    if model is None:
        raise ValueError("a plugin has no model; give replies=[...]")
    return Agent(model=model, plugins=[subject], store=store)


async def _run(
    source: Agent | Path,
    name: str,
    texts: Sequence[str],
    model: ScriptedModel | None,
    conversation: str,
    user: str,
    clock: Clock,
    ids: IdSource,
) -> TurnResult:
    async with open_app(source, clock=clock, ids=ids, model=model) as app:
        name = name or _only(app.names())
        if app.problems(name):
            raise ConfigError(app.problems(name))
        thread = conversation or ids.new("conv")
        if isinstance(ids, FakeIds):
            known = await app.store.read(lambda conn: conn.execute(select(func.count(run.c.id))).scalar_one())
            ids.skip("run", known)
        events: list[Event] = []
        for text in texts:
            events += [event async for event in app.stream(name, text, conversation=thread, user=user)]
        rows = await app.store.read(lambda conn: load_rows(conn, thread))
    answers = tuple(event.answer for event in events if isinstance(event, RunEnded))
    return TurnResult(answers, tuple(events), rows, tuple(model.requests) if model else ())


def _only(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    raise ValueError(f"the file has several agents; say agent=..., one of {', '.join(sorted(names))}")
