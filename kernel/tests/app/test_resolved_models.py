"""A provider that builds on another's model, with settings of its own for it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from wakeful import Agent, hookimpl
from wakeful.types import Json, Model, Provider, Resolve

INNER = """
from __future__ import annotations

from attrs import frozen

from wakeful import hookimpl
from wakeful.testing import ScriptedModel


@frozen
class Settings:
    volume: int = 1


class Provider:
    name = "inner"

    def bind(self, model, settings, resolve):
        return ScriptedModel([f"{model} at {settings.volume}"])


class Plugin:
    Settings = Settings

    @hookimpl
    def model_providers(self):
        return [Provider()]
"""


@pytest.fixture(autouse=True)
def _inner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    site = tmp_path / "site"
    info = site / "wkinner-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "wkinner.py").write_text(INNER)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: wkinner\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[wakeful]\ninner = wkinner:Plugin\n")
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    yield
    importlib.invalidate_caches()


class Outer:
    """Serves ``outer:x`` by what serves ``inner:x``."""

    name = "outer"

    def __init__(self, settings: dict[str, Json] | None) -> None:
        self._settings = settings

    @hookimpl
    def model_providers(self) -> Sequence[Provider]:
        return (self,)

    def bind(self, model: str, settings: Json, resolve: Resolve) -> Model:
        return resolve(f"inner:{model}") if self._settings is None else resolve("inner:x", self._settings)


def agent(settings: dict[str, Json] | None) -> Agent:
    return Agent(model="outer:y", plugins=[Outer(settings)], settings={"inner": {"volume": 5}})


async def test_the_agents_settings_hold_unless_others_are_given(wakeful_app: Any) -> None:
    async with wakeful_app(agent(None)) as app:
        assert (await app.send("agent", "Hi")).text == "y at 5"


@pytest.mark.parametrize(("given", "text"), [({"volume": 9}, "x at 9"), ({}, "x at 1")])
async def test_given_settings_replace_the_agents(given: dict[str, Json], text: str, wakeful_app: Any) -> None:
    async with wakeful_app(agent(given)) as app:
        assert (await app.send("agent", "Hi")).text == text


async def test_wrong_settings_are_a_problem_of_the_agent(wakeful_app: Any) -> None:
    async with wakeful_app(agent({"volum": 9})) as app:
        (problem,) = app.problems("agent")
        assert problem.where == "agents.agent.model: inner.volum"
        assert "did you mean 'volume'" in problem.what
