"""Outputs over 50,000 bytes: in the file store as they are produced, referred to by the journal."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wakeful import ActionResult, Agent, action
from wakeful.testing import Database, TurnResult, say

Turn = Callable[..., TurnResult]
ROWS = 2000


def row(number: int) -> dict[str, Any]:
    return {"id": number, "name": f"Kunde {number}, größer", "paid": number % 2 == 0, "sum": number / 4}


@action(effect="read", output_trust="trusted")
def listed() -> Iterator[dict[str, Any]]:
    """List."""
    yield from map(row, range(ROWS))


@action(effect="read", output_trust="trusted")
async def listed_later() -> AsyncIterator[dict[str, Any]]:
    """List."""
    for number in range(ROWS):
        yield row(number)


def content(store: Database, ref: str) -> bytes:
    return (store.path.with_name(f"{store.path.name}.files") / ref[:2] / ref[2:4] / ref).read_bytes()


def spooled(store: Database, name: str = "result") -> dict[str, Any]:
    (call,) = store.rows("select result from action_call")
    found: dict[str, Any] = json.loads(call["result"])["spooled"][name]
    assert store.rows("select conversation_id from content where ref = ?", found["ref"])
    return found


@pytest.mark.parametrize("tool", [listed, listed_later])
def test_a_long_iterator_of_records_goes_to_the_file_store_line_by_line(
    run_turn: Turn, store: Database, tool: Any
) -> None:
    result = run_turn(Agent(model="", actions=[tool]), "Go", replies=[say(calls=[tool.tool_name]), "Done."])
    found = spooled(store)
    assert (found["rows"], found["form"]) == (ROWS, "records")
    assert found["columns"] == [["id", "integer"], ["name", "text"], ["paid", "boolean"], ["sum", "number"]]
    lines = content(store, found["ref"]).decode().splitlines()
    assert [json.loads(line) for line in lines] == [row(number) for number in range(ROWS)]
    assert result.calls[0].result.message == f"{ROWS:,} rows, columns: id, name, paid, sum"
    assert f"| {ROWS - 1} | Kunde {ROWS - 1}, größer |" in result.calls[0].text


def test_an_endless_iterator_is_cut_and_the_message_says_so(
    run_turn: Turn, store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wakeful.results.writing.ITEM_CAP", 30_000)  # a million takes its time

    @action(effect="read", output_trust="trusted")
    def endless() -> Iterator[int]:
        """Count."""
        return itertools.repeat(7)

    result = run_turn(Agent(model="", actions=[endless]), "Go", replies=[say(calls=["endless"]), "Done."])
    assert result.calls[0].result.message.startswith("cut at 30,000 items")
    whole = json.loads(content(store, spooled(store)["ref"]))
    assert (len(whole), set(whole)) == (30_000, {7})


def test_what_is_not_bounded_is_shown_from_its_beginning(run_turn: Turn) -> None:
    @action(effect="read", output_trust="trusted")
    def wide() -> Iterator[dict[str, str]]:
        """List."""
        return ({"text": "x" * 1000} for _ in range(1500))

    result = run_turn(Agent(model="", actions=[wide]), "Go", replies=[say(calls=["wide"]), "Done."])
    assert "`result` is cut: 988 of 1,500 rows" in result.calls[0].result.message
    assert len(result.calls[0].text) < 1_100_000


@pytest.mark.parametrize(
    ("name", "text", "form", "stored"),
    [
        ("big.jsonl", '{"a": 1}\n\n' * 10_000, "records", b'{"a":1}\n' * 10_000),
        ("big.csv", "a,b\n" + "1,x\n" * 10_000, "records", b'{"a":"1","b":"x"}\n' * 10_000),
        ("big.json", json.dumps([1] * 40_000), "json", b"[" + b"1," * 39_999 + b"1]"),
        ("big.log", "a line\r\n" * 10_000, "text", b"a line\r\n" * 10_000),
        ("big.png", "\x00" * 60_000, "bytes", b"\x00" * 60_000),
    ],
)
def test_a_path_stands_for_what_its_file_holds(
    run_turn: Turn, store: Database, tmp_path: Path, name: str, text: str, form: str, stored: bytes
) -> None:
    (tmp_path / name).write_bytes(text.encode())

    @action(effect="read", output_trust="trusted")
    async def dump() -> ActionResult:
        """Dump."""
        return ActionResult(outputs={"file": tmp_path / name})

    run_turn(Agent(model="", actions=[dump]), "Go", replies=[say(calls=["dump"]), "Done."])
    found = spooled(store, "file")
    assert (found["form"], content(store, found["ref"])) == (form, stored)


def test_a_path_that_is_not_there_is_a_failed_result(run_turn: Turn, tmp_path: Path) -> None:
    @action(effect="read", output_trust="trusted")
    async def dump() -> ActionResult:
        """Dump."""
        return ActionResult(outputs={"file": tmp_path / "missing.log"})

    result = run_turn(Agent(model="", actions=[dump]), "Go", replies=[say(calls=["dump"]), "Done."])
    assert result.calls[0].result.code == "ERROR"
    assert "FileNotFoundError" in result.calls[0].result.message


def test_an_iterator_that_fails_late_leaves_nothing(run_turn: Turn, store: Database) -> None:
    @action(effect="read", output_trust="trusted")
    def failing() -> Iterator[dict[str, Any]]:
        """List."""
        yield from map(row, range(ROWS))
        raise OSError("the line went dead")

    result = run_turn(Agent(model="", actions=[failing]), "Go", replies=[say(calls=["failing"]), "Done."])
    assert (result.calls[0].result.code, result.calls[0].result.message) == (
        "ERROR",
        "OSError: the line went dead",
    )
    folder = store.path.with_name(f"{store.path.name}.files")
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_secrets_are_taken_out_before_anything_is_written(
    run_turn: Turn, store: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "hunter2-hunter2")
    (tmp_path / "leak.py").write_text(
        "from wakeful import action\n"
        "@action(effect='read', output_trust='trusted')\n"
        "def leak():\n"
        "    'Leak.'\n"
        "    return ({'n': n, 'key': 'hunter2-hunter2'} for n in range(3000))\n"
    )
    (tmp_path / "wakeful.toml").write_text(
        f'[store]\nurl = "{store.url}"\n[plugins.records]\nurl = "sqlite:///${{env:SHOP_KEY}}.db"\n'
        '[agents.desk]\nmodel = "scripted:x"\nactions = ["leak:*"]\n'
    )
    result = run_turn(tmp_path / "wakeful.toml", "Go", replies=[say(calls=["leak"]), "Done."])
    assert b"hunter2" not in content(store, spooled(store)["ref"])
    assert "hunter2" not in result.calls[0].text
    assert "[secret]" in result.calls[0].text


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 300


@pytest.mark.parametrize(
    ("value", "note"),
    [
        (lambda folder: folder / "p.png", "<image/png, 76,808 bytes>"),
        (
            lambda _: {"media_type": "audio/ogg", "data": base64.b64encode(PNG).decode()},
            "<audio/ogg, 76,808 bytes>",
        ),
        (
            lambda _: {"mimeType": "image/png", "data": base64.b64encode(PNG[:9]).decode()},
            "<image/png, 9 bytes>",
        ),
        (lambda _: base64.b64encode(PNG).decode(), "<image/png, 76,808 bytes>"),
    ],
    ids=["file", "declared", "small", "text"],
)
def test_media_are_shown_as_a_note(run_turn: Turn, tmp_path: Path, value: Any, note: str) -> None:
    (tmp_path / "p.png").write_bytes(PNG)

    @action(effect="read", output_trust="trusted")
    async def draw() -> ActionResult:
        """Draw."""
        return ActionResult(outputs={"picture": value(tmp_path)})

    result = run_turn(Agent(model="", actions=[draw]), "Go", replies=[say(calls=[("draw", {})]), "Done."])
    shown, _, handle = result.calls[0].text.rpartition(", media:")
    assert f"{shown}>".endswith(f"- `picture`: {note}")
    assert len(handle) == len("0123456789ab>")
