"""Keys are on the wire and nowhere else: no log, event, error, cassette, file or database holds one."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from tests.providers import KEY, WAYS, Way, console, each_way, turn, write
from wakeful import Agent
from wakeful.types import Answer, RunStatus

LOOKS = {
    "thinking": "The key is a.",
    "reasoning_field": "reasoning_content",
    "text": "Let me look.",
    "calls": [{"tool": "look", "args": {"key": "a"}}],
}
#: A careless server that repeats what it was sent, in an error and, as if a model had said it, in a reply.
ECHOES = {"error": {"kind": "auth", "message": f"Bad headers: x-api-key: {KEY}, Authorization: {KEY}"}}
BROKEN = {"text": "Hm. " * 40, "error": {"stream": "truncate"}}
PASSWORD = "pa55-planted-w0rd"  # in the address of the server

Setup = Callable[[Way, str], Path]


@pytest.fixture(params=["setting", "variable"])
def setup(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setup:
    """Write the file of an agent that is recorded; its key stands in a setting or in the usual variable."""
    for name, value in console(tmp_path).env.items():
        monkeypatch.setenv(name, value)

    def prepare(way: Way, url: str) -> Path:
        if request.param == "setting":
            monkeypatch.setenv("ADA_KEY", KEY)
            table = way.table(url, key="${env:ADA_KEY}")
        else:
            monkeypatch.setenv(way.variables["key"], KEY)
            monkeypatch.setenv(way.variables["url"], url)
            table = way.table("")
        recorded = f'[plugins.replay]\nmode = "record"\nupstream = "{way.spelled}"\n'
        return write(tmp_path, table, recorded, model="replay:session.jsonl", more="retry = { total_s = 0 }")

    return prepare


@pytest.fixture
def everything(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Callable[..., dict[str, str]]:
    """Give a function that collects all that can be read afterwards, by where it was found."""
    caplog.set_level(logging.DEBUG)  # the SDKs and their transport log much more then

    def collect(*seen: object) -> dict[str, str]:
        printed = capfd.readouterr()
        found = {
            "log": caplog.text,
            "out": printed.out,
            "err": printed.err,
            "seen": "\n".join(map(repr, seen)),
        }
        found["records"] = repr([vars(record) for record in caplog.records])
        for path in tmp_path.rglob("*"):
            if path.is_file():
                found[path.name] = path.read_bytes().decode("latin-1")
        with closing(sqlite3.connect(tmp_path / "wakeful.db")) as database:
            found["dump"] = "\n".join(database.iterdump())
        return found

    return collect


@each_way
async def test_keys_are_nowhere_but_on_the_wire(
    wire: Any, wakeful_app: Any, tmp_path: Path, setup: Setup, everything: Any, way: Way
) -> None:
    wire.play([LOOKS, "It is 1.", BROKEN, ECHOES, "Good bye."], api_key=KEY)
    seen: list[object] = []
    async with wakeful_app(setup(way, way.url(wire))) as app:
        for text in ("What is a?", "And b?", "And c?", "Bye."):
            turned = await turn(app, text)
            seen += [*turned.events, turned.answer]
        built = app.agents["desk"]
        seen += [app, vars(app), built, built.model, built.model.models, app.describe("desk")]
        seen += [built.instances, built.services]
    statuses = [answer.status for answer in seen if isinstance(answer, Answer)]
    assert statuses == [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.FAILED, RunStatus.COMPLETED]
    found = everything(*seen)
    assert "[secret]" in found["seen"]  # the echo came through, without the key
    assert "httpx2" in found["log"]
    assert "Let me look." in found["session.jsonl"]
    assert "Let me look." in found["dump"]
    assert {where for where, text in found.items() if KEY in text or "Bearer" in text} == set()


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
async def test_a_password_in_the_address_is_not_shown(
    wire: Any, wakeful_app: Any, tmp_path: Path, everything: Any, way: Way
) -> None:
    url = way.url(wire).replace("http://", f"http://ada:{PASSWORD}@")
    wire.play(["Hello.", {"error": {"kind": "server"}}, BROKEN])
    table = evolve(way, settings="").table(url, key=KEY)
    file = write(tmp_path, table, model=way.spelled, more="retry = { total_s = 0 }")
    seen: list[object] = []
    async with wakeful_app(file) as app:
        for text in ("One.", "Two.", "Three."):
            seen += (await turn(app, text)).events
        seen += [app.agents["desk"], app.agents["desk"].model]
    (tmp_path / "wakeful.toml").unlink()  # the one place where it stands
    found = everything(*seen)
    assert {where for where, text in found.items() if PASSWORD in text or KEY in text} == set()


@each_way
def test_a_broken_configuration_does_not_show_a_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], way: Way
) -> None:
    from wakeful.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADA_KEY", f"{KEY} with a space")
    table = way.table("no address", key="${env:ADA_KEY}") + "timeout_s = -1\nno_such_setting = 1\n"
    write(tmp_path, table, model=way.spelled)
    for command in (["run", "desk", "Hello"], ["doctor"], ["run", "desk", "Hello", "--json"]):
        assert main(command) != 0
        out, err = capsys.readouterr()
        assert KEY not in out + err
        assert "Traceback" not in out + err


@each_way
def test_an_agent_in_code_does_not_show_a_key(way: Way) -> None:
    agent = Agent(model=way.spelled, settings={way.scheme: {"api_key": KEY}})
    assert way.spelled in repr(agent)
    assert KEY not in repr(agent)
