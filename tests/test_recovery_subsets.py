"""The demonstration's conversation comes out the same with every subset of the plugins that shape it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.counts import THOROUGH, profile
from wakeful import open as open_app
from wakeful.plugins.loader import installed
from wakeful.testing import FakeClock, FakeIds
from wakeful.types import ActionEnded, PrefixBreak, RunEnded, RunStatus
from wakeful_demo.command import QUESTIONS
from wakeful_demo.setup import SCRIPT, lay_out

SHAPING = ("recovery", "lifecycle", "loops", "multiplexer", "spillover", "cache")
THERE = tuple(name for name in SHAPING if name in installed())
#: Everyday runs take the smallest and the largest subsets; with six plugins that is 14 of 64.
EDGE = 1


def subsets() -> list[tuple[str, ...]]:
    """Return the subsets to run: all when thorough."""
    found = [each for size in range(len(THERE) + 1) for each in combinations(THERE, size)]
    if profile() == THOROUGH:
        return found
    return [each for each in found if not EDGE < len(each) < len(THERE) - EDGE]


def told(folder: Path, plugins: Sequence[str]) -> tuple[list[Any], list[Any], list[PrefixBreak]]:
    """Play the conversation; return its answers, how its calls ended, and the breaks of its prefix."""
    file = lay_out(folder, SCRIPT)
    listed = ", ".join(f'"{name}"' for name in plugins)
    file.write_text(
        file.read_text(encoding="utf-8") + f"\n[plugins]\nenable = [{listed}]\n", encoding="utf-8"
    )
    answers: list[Any] = []
    calls: list[Any] = []
    breaks: list[PrefixBreak] = []

    async def play() -> None:
        async with open_app(file, clock=FakeClock(), ids=FakeIds()) as app:
            assert not app.problems("desk"), app.problems("desk")
            for question in QUESTIONS:
                async for event in app.stream("desk", question, conversation="demo", user="ana"):
                    if isinstance(event, RunEnded):
                        answers.append((event.answer.status, event.answer.text))
                    elif isinstance(event, ActionEnded):
                        calls.append((event.invocation.action, event.result.success, event.result.code))
                    elif isinstance(event, PrefixBreak):
                        breaks.append(event)

    asyncio.run(play())
    return answers, calls, breaks


def test_the_subsets_are_those_of_six_plugins_where_all_are_installed() -> None:
    if len(THERE) < len(SHAPING):
        pytest.skip(f"installed: {', '.join(THERE)}")
    every = sum(1 for size in range(len(THERE) + 1) for _ in combinations(THERE, size))
    assert every == 64


def test_every_subset_runs_the_conversation(tmp_path: Path) -> None:
    plain = told(tmp_path / "plain", ())
    assert [status for status, _ in plain[0]] == [RunStatus.COMPLETED] * len(QUESTIONS)
    for number, plugins in enumerate(subsets()):
        answers, calls, breaks = told(tmp_path / str(number), plugins)
        assert answers == plain[0], plugins
        assert calls == plain[1], plugins
        assert all(event.change.declared for event in breaks), plugins
