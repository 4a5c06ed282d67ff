from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import wakeful
from wakeful import Agent, action
from wakeful.app import App
from wakeful.testing.processes import children
from wakeful.types import Limits, ReplyReceived, Usage
from wakeful_llamacpp.files import model_file
from wakeful_llamacpp.gguf import facts_of

#: One thread, because a machine that does other things as well makes two wait for each other; greedy; short
#: replies in a small context.
FAST = {"threads": 1, "context": 2048, "max_tokens": 24, "extra": {"temperature": 0, "seed": 1}}


@action(effect="read", output_trust="trusted")
async def find_invoice(number: int) -> str:
    """Find an invoice, and say who owes how much.

    Args:
        number: the number on it.
    """
    return f"Invoice {number}: Bolt Ltd owes 120 euros."


def agent(folder: Path, steps: int = 1, **settings: Any) -> Agent:
    """Return an agent of the packaged model."""
    return Agent(
        model="llamacpp:default",
        actions=[find_invoice],
        instructions="You are the desk of Ada Ltd. Answer in one short sentence.",
        limits=Limits(steps=steps),
        settings={"llamacpp": FAST | settings},
        folder=folder,
    )


@pytest.fixture
def desk(tmp_path: Path) -> Callable[..., Agent]:
    """Give agents of the packaged model; without native tools if they are to use the file's own template."""

    def make(steps: int = 1, *, plain: bool = False, **settings: Any) -> Agent:
        if plain:
            settings["chat_template"] = "plain.jinja"
            own = facts_of(model_file("default", tmp_path)).template
            (tmp_path / "plain.jinja").write_text(own, encoding="utf-8")
        return agent(tmp_path, steps, **settings)

    return make


@asynccontextmanager
async def _opened(source: Agent | Path, **options: Any) -> AsyncIterator[App]:
    async with wakeful.open(source, **options) as app:
        yield app
    assert children() == set(), "an engine outlived its application"


@pytest.fixture
def opened() -> Callable[..., AbstractAsyncContextManager[App]]:
    """Give ``wakeful.open`` on real time; no process stays behind."""
    return _opened


def used(events: list[Any]) -> list[Usage]:
    """Return what each reply of a turn used."""
    return [event.reply.usage for event in events if isinstance(event, ReplyReceived)]
