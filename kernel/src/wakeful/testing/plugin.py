"""The pytest plugin: fixtures, each importing what it needs when a test asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from wakeful.app import Agent, App
    from wakeful.testing.clock import FakeClock
    from wakeful.testing.databases import Database
    from wakeful.testing.ids import FakeIds
    from wakeful.testing.prefixes import PrefixStable
    from wakeful.testing.turns import TurnResult
    from wakeful.testing.wire import Wire


@pytest.fixture
def clock() -> FakeClock:
    """Give time that moves only when the test says so."""
    from wakeful.testing.clock import FakeClock

    return FakeClock()


@pytest.fixture
def ids() -> FakeIds:
    """Give a source of ids that is the same in every run: ``run-1``, ``conv-1`` and so on."""
    from wakeful.testing.ids import FakeIds

    return FakeIds()


@pytest.fixture(scope="session")
def wakeful_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a migrated database that other fixtures copy; nobody writes to it."""
    from wakeful.testing.databases import migrated

    return migrated(tmp_path_factory.mktemp("wakeful") / "template.db")


@pytest.fixture
def store(tmp_path: Path, wakeful_template: Path, clock: FakeClock) -> Database:
    """Give a SQLite database with the kernel's tables, a copy of its own for each test."""
    from wakeful.testing.databases import Database

    return Database.copy(wakeful_template, tmp_path / "wakeful.db", clock)


@pytest.fixture
def wakeful_app(
    store: Database, clock: FakeClock, ids: FakeIds, tmp_path: Path
) -> Callable[..., AbstractAsyncContextManager[App]]:
    """Give ``wakeful.open`` with the fake clock and ids; an ``Agent`` gets the test's database and folder.

    ::

        async with wakeful_app(Agent(model=ScriptedModel(["Hello."]))) as app:
            answer = await app.send("agent", "Hi")
    """
    from wakeful.app import open as open_app
    from wakeful.testing.turns import at_home

    def start(source: str | Path | Agent, **options: Any) -> AbstractAsyncContextManager[App]:
        return open_app(at_home(source, store.url, tmp_path), **{"clock": clock, "ids": ids, **options})

    return start


@pytest.fixture
def run_turn(store: Database, clock: FakeClock, ids: FakeIds, tmp_path: Path) -> Callable[..., TurnResult]:
    """Give :func:`wakeful.testing.run_turn` with the fake clock and ids and the test's own database."""
    from wakeful.testing.turns import at_home
    from wakeful.testing.turns import run_turn as run

    def turn(subject: Any, *texts: str, **options: Any) -> TurnResult:
        here = at_home(subject, store.url, tmp_path)
        return run(here, *texts, **{"clock": clock, "ids": ids, "store": store.url, **options})

    return turn


@pytest.fixture
def assert_prefix_stable(store: Database) -> PrefixStable:
    """Give a check that every request of a conversation repeated the one before it.

    ::

        run_turn(agent, "Hello", "And again", conversation="c-1")
        assert_prefix_stable("c-1")

    The conversation is one of the test's own database, which ``run_turn`` and ``wakeful_app`` use; its agent
    needs a layout that fingerprints requests. ``declared=False`` accepts no break at all.
    """
    from wakeful.testing.prefixes import PrefixStable

    return PrefixStable(store)


@pytest.fixture
def wire() -> Iterator[Wire]:
    """Give a server on loopback that speaks the wire formats of Anthropic and OpenAI and plays a script.

    ::

        wire.play(["Hello."])
        client = anthropic.Anthropic(base_url=wire.anthropic_url, api_key="k")

    It needs the extra ``wakeful[testing]``.
    """
    from wakeful.testing.wire import Wire

    with Wire() as wire:
        yield wire
