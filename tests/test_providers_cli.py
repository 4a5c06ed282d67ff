"""What somebody sees who talks to a model from the command line: whole conversations, and one clear line."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from tests.cli import Done
from tests.providers import (
    KEY,
    Way,
    both_providers,
    console,
    each_way,
    metered,
    paid,
    write,
)
from wakeful.cli.main import main

Run = Callable[..., Done]

THINKS = {"thinking": "The keys are a and b.", "reasoning_field": "reasoning_content"}


def call(tool: str, **args: Any) -> dict[str, Any]:
    return {"tool": tool, "args": args}


CONVERSATION = [
    {
        **THINKS,
        "text": "Let me look.",
        "calls": [call("look", key="a"), call("pay", euros=5), call("look", key="b")],
    },
    {"calls": [call("pay", euros=6), {**call("pay", euros=7), "cut": True}], "stop": "max_tokens"},
    {**THINKS, "calls": [call("pay", euros=7)]},
    "All is paid.",
]


@each_way
def test_a_conversation_with_everything_in_it(wire: Any, tmp_path: Path, way: Way) -> None:
    wire.play(CONVERSATION, api_key=KEY)
    write(tmp_path, way.table(way.url(wire), key="${env:ADA_KEY}"), model=way.spelled)
    done = console(tmp_path, ADA_KEY=KEY).run("run", "desk", "Pay what is due.", "--json")
    assert (done.code, done.json["text"]) == (0, "All is paid."), done.err
    assert paid(tmp_path) == [5, 7]
    usage = done.json["usage"]
    assert usage["read"] + usage["write"] + usage["uncached"] == metered(wire.meter.rows)
    assert wire.summary()["prefix_breaks"] == 0, wire.explain()
    assert KEY not in done.out + done.err


@each_way
def test_why_a_turn_pauses_is_said_meanwhile(wire: Any, tmp_path: Path, way: Way) -> None:
    wire.play([{"error": {"kind": "overloaded", "retry_after": 0.01}}, "Hello."], api_key=KEY)
    write(tmp_path, way.table(way.url(wire), key="${env:ADA_KEY}"), model=way.spelled)
    done = console(tmp_path, ADA_KEY=KEY).run("run", "desk", "Hello")
    assert (done.code, done.out.strip()) == (0, "Hello."), done.err
    said = " ".join(done.err.split())  # the terminal folds lines
    assert f"{way.spelled}: overloaded" in said
    assert said.count("; trying again in 1 s") == 1


def one_line(done: Done) -> str:
    """Return the one line that says what is wrong."""
    assert "Traceback" not in done.out + done.err
    assert KEY not in done.out + done.err
    (line,) = done.errors
    return line


@pytest.fixture
def nowhere() -> Iterator[str]:
    """Give an address where nobody listens: taken, and not listened at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Ask an agent that has no plugin but its provider and does not wait, in this process."""
    monkeypatch.chdir(tmp_path)
    for name, value in {**console(tmp_path).env, "ADA_KEY": KEY}.items():
        monkeypatch.setenv(name, value)

    def run(way: Way, url: str, *, key: str = "${env:ADA_KEY}", model: str = "") -> Done:
        plain, never = evolve(way, settings=""), "retry = { total_s = 0 }"
        write(tmp_path, plain.table(url, key=key), model=model or way.spelled, actions=False, more=never)
        capsys.readouterr()
        code = main(["run", "desk", "Hello"])
        return Done(code, *capsys.readouterr())

    return run


@both_providers
def test_no_key(alone: Run, way: Way) -> None:
    url = "https://api.openai.com/v1" if way.scheme == "openai" else ""
    done = alone(way, url, key="")
    assert done.code == 2
    line = one_line(done)
    assert "agents.desk" in line
    assert "no API key" in line
    assert way.variables["key"] in line


@both_providers
def test_a_variable_that_is_not_set(alone: Run, way: Way) -> None:
    done = alone(way, "http://127.0.0.1:9", key="${env:NOT_SET_ANYWHERE}")
    assert done.code == 2
    assert "NOT_SET_ANYWHERE" in one_line(done)


@each_way
def test_a_wrong_key(wire: Any, alone: Run, way: Way) -> None:
    wire.play(["Hello."], api_key="another")
    done = alone(way, way.url(wire))
    assert done.code == 4
    assert f"auth: {way.spelled}: auth (401)" in one_line(done)
    assert len(wire.requests) <= 1


@each_way
def test_no_network(alone: Run, way: Way, nowhere: str) -> None:
    done = alone(way, f"http://{nowhere}/v1")
    assert done.code == 4
    line = one_line(done)
    assert f"network: {way.spelled}: cannot connect to " in line
    assert nowhere in line


@each_way
def test_an_unknown_model(wire: Any, alone: Run, way: Way) -> None:
    misspelt = f"{way.scheme}:{way.model[1:]}"
    wire.play([{"error": {"kind": "not_found"}}])
    done = alone(way, way.url(wire), model=misspelt)
    assert done.code == 1
    assert "404" in one_line(done)
    assert f"unknown model '{way.model[1:]}'; did you mean '" in done.err


@both_providers
def test_an_unknown_scheme(alone: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], way: Way) -> None:
    scheme = way.scheme[:-1]
    done = alone(way, "http://127.0.0.1:9", model=f"{scheme}:x")
    assert done.code == 2
    model, plugin = done.errors
    assert f"agents.desk.model: plugin {scheme!r}: no installed distribution provides it" in model
    assert f"plugins.{way.scheme}: no agent uses this plugin, and a model names {scheme!r}" in plugin
    write(tmp_path, model=f"{scheme}:x", actions=False)
    code = main(["run", "desk", "Hello"])
    done = Done(code, *capsys.readouterr())
    assert done.code == 2
    assert f"did you mean {way.scheme!r}?" in one_line(done)


@each_way
def test_a_model_that_works_needs_the_kernel_and_its_own_plugin(wire: Any, alone: Run, way: Way) -> None:
    wire.play(["Hello yourself."], api_key=KEY)
    done = alone(way, way.url(wire))
    assert (done.code, done.out.strip().startswith("Hello yourself.")) == (0, True), done.err
