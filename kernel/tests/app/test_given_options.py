"""Options of a turn: for whom they are, in which shape, and what plugins say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from wakeful import Agent, hookimpl
from wakeful.store.records import list_runs
from wakeful.testing import ScriptedModel
from wakeful.types import ConfigError, Json, PluginError, Problem

Options = Mapping[str, Mapping[str, Json]]


class Picky:
    """Takes a colour."""

    name = "picky"

    @hookimpl
    def option_problems(self, options: Options) -> Sequence[Problem] | None:
        colour = options.get("picky", {}).get("colour")
        return None if colour == "blue" else [Problem("options.picky.colour", f"not blue but {colour}")]


class Echo(Picky):
    """Reads the same."""

    name = "echo"


class Broken:
    """Fails."""

    name = "broken"

    @hookimpl
    def option_problems(self) -> Sequence[Problem]:
        raise KeyError("oops")


def agent(*plugins: Any) -> Agent:
    return Agent(model=ScriptedModel(["Done."]), plugins=list(plugins))


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ([], "options: expected an object with the names of plugins, got a list"),
        ("picky", 'options: expected an object with the names of plugins, got the string "picky"'),
        ({1: {}}, "options: expected the names of plugins, got the number 1"),
        ({"piky": {}}, "options.piky: unknown plugin 'piky'; did you mean 'picky'?"),
        (
            {"": {"words": "Pay"}},
            "options.: unknown plugin ''",
        ),  # what agents hand down
        ({"picky": 1}, "options.picky: expected an object, got the number 1"),
        ({"picky": {"colour": object}}, "options.picky: expected what JSON can express; "),
        ({"picky": {"colour": "red"}}, "options.picky.colour: not blue but red"),
    ],
)
async def test_wrong_options_are_refused_before_the_run(wakeful_app: Any, options: Any, what: str) -> None:
    async with wakeful_app(agent(Picky, Echo)) as app:
        with pytest.raises(ConfigError) as caught:
            await app.send("agent", "Go", options=options)
        assert str(caught.value).startswith(what)
        assert len(caught.value.problems) == 1  # although two plugins said so
        assert not await app.store.read(list_runs)


@pytest.mark.parametrize("options", [None, {}, {"picky": {"colour": "blue"}}])
async def test_right_options_and_none_go_through(wakeful_app: Any, options: Any) -> None:
    async with wakeful_app(agent(Picky)) as app:
        assert (await app.send("agent", "Go", options=options)).text == "Done."


async def test_a_plugin_that_fails_to_say_is_named(wakeful_app: Any) -> None:
    async with wakeful_app(agent(Picky, Broken)) as app:
        with pytest.raises(PluginError, match=r"broken.*option_problems.*oops"):
            await app.send("agent", "Go", options={"picky": {"colour": "blue"}})
        assert not await app.store.read(list_runs)
