"""A conversation in which actions gave something, and questions about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from wakeful import Agent, action
from wakeful.store.maintain import upgrade
from wakeful.testing import Database, FakeClock, TurnResult, say
from wakeful.types import ActionEnded, Trust
from wakeful_spillover.tables import LINEAGE


@pytest.fixture(scope="session")
def spillover_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the kernel's tables and the plugin's, made once."""
    path = tmp_path_factory.mktemp("spillover") / "template.db"
    upgrade(f"sqlite:///{path}", [LINEAGE])
    return path


@pytest.fixture
def store(tmp_path: Path, spillover_template: Path, clock: FakeClock) -> Database:
    """A database of the test's own."""
    return Database.copy(spillover_template, tmp_path / "wakeful.db", clock)


class Asked:
    """What one or more questions were answered."""

    def __init__(self, turn: TurnResult, given: int) -> None:
        self.turn, self.calls = turn, turn.calls[given:]

    @property
    def ended(self) -> ActionEnded:
        """The only call."""
        (only,) = self.calls
        return only

    @property
    def code(self) -> str:
        """Its code."""
        return self.ended.result.code

    @property
    def out(self) -> Mapping[str, Any]:
        """Its outputs."""
        assert self.ended.result.success, self.ended.text
        return self.ended.result.outputs

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of its answer."""
        found: list[dict[str, Any]] = self.out["rows"]
        return found


Ask = Callable[..., Asked]


@pytest.fixture
def ask(run_turn: Callable[..., TurnResult]) -> Ask:
    """Ask questions about outputs: ``ask([value, …], tool, **arguments)`` or ``ask(values, calls=[…])``."""

    def run(
        values: Sequence[Any],
        tool: str = "",
        /,
        *,
        calls: Sequence[tuple[str, Mapping[str, Any]]] = (),
        settings: Mapping[str, Any] | None = None,
        trust: Trust = Trust.TRUSTED,
        **arguments: Any,
    ) -> Asked:
        from wakeful_spillover import Spillover, SpilloverSettings

        waiting = list(values)

        @action(effect="read", output_trust=trust)
        def give(number: int) -> Any:
            """Give what the test wants."""
            value = waiting[number]
            return value() if callable(value) else value

        plugin: Any = "spillover" if settings is None else _with(Spillover, SpilloverSettings(**settings))
        made = [("give", {"number": number}) for number in range(len(waiting))]
        questions = list(calls) or ([(tool, {"handle": "A", **arguments})] if tool else [])
        replies = [say(calls=made), *([say(calls=questions)] if questions else []), "Done."]
        turn = run_turn(Agent(model="", actions=[give], plugins=[plugin]), "Go", replies=replies)
        return Asked(turn, len(made))

    return run


def _with(cls: Any, settings: Any) -> Any:
    """Return the plugin's class with other settings, under its own name."""

    class Spillover(cls):  # type: ignore[misc]  # the base is handed in
        name = "spillover"

        def __init__(self, _: Any, services: Any) -> None:
            super().__init__(settings, services)

    return Spillover
