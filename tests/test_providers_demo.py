"""The demonstration with real providers: their usual variables are enough to point it at a server."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli import Done
from tests.providers import ANTHROPIC, CHAT, KEY, RESPONSES, Way, console, metered

UPDATE = {"tool": "update_record", "args": {"entity": "invoices", "id": 1008, "values": {"status": "paid"}}}
OWED = "SELECT SUM(amount) AS owed FROM invoices WHERE status = 'open'"
CONVERSATION = [
    {
        "thinking": "First the tables.",
        "text": "Let me see.",
        "calls": [{"tool": "list_entities", "args": {}}],
    },
    {"calls": [{"tool": "run_query", "args": {"sql": OWED}}, {"tool": "read_inbox", "args": {}}]},
    "Some do.",
    {"calls": [{"tool": "read_mail", "args": {"id": number}} for number in (1, 2, 3)]},
    "Four mails.",
    {"calls": [{**UPDATE, "cut": True}], "stop": "max_tokens"},
    {"calls": [UPDATE]},
    "It is marked as paid.",
]


def status_of_1008(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "company.db")) as connection:
        return str(connection.execute("SELECT status FROM invoices WHERE id = 1008").fetchone()[0])


@pytest.mark.parametrize("way", [ANTHROPIC, CHAT], ids=lambda way: way.name)
def test_the_demonstration_talks_to_the_server_of_the_environment(
    wire: Any, tmp_path: Path, way: Way
) -> None:
    wire.play(CONVERSATION, api_key=KEY)
    variables = {way.variables["key"]: KEY, way.variables["url"]: way.url(wire)}
    shell = console(tmp_path, **variables)
    done = shell.run("demo", "--model", way.spelled, "--folder", "office")
    said(done, "Some do.", "Four mails.", "It is marked as paid.")
    assert status_of_1008(tmp_path / "office") == "paid"
    assert wire.summary()["prefix_breaks"] == 0, wire.explain()
    assert {request["model"] for request in wire.requests} == {way.model}


def test_its_folder_runs_over_responses_with_three_more_lines(wire: Any, tmp_path: Path) -> None:
    wire.play([*CONVERSATION[:3]], api_key=KEY)
    shell = console(tmp_path, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=wire.openai_url)
    assert shell.run("demo", "--model", RESPONSES.spelled, "--folder", ".", "--setup").code == 0
    file = tmp_path / "wakeful.toml"
    file.write_text(f"{file.read_text()}\n{RESPONSES.table('', stream=False)}", encoding="utf-8")
    done = shell.run("run", "desk", "Who owes us money?", "--json")
    assert (done.code, done.json["text"]) == (0, "Some do."), done.err
    usage = done.json["usage"]
    assert usage["read"] + usage["write"] + usage["uncached"] == metered(wire.meter.rows)
    assert all("input" in request for request in wire.requests)


def said(done: Done, *texts: str) -> None:
    assert done.code == 0, done.err + done.out
    assert [text for text in texts if text not in done.out] == []
    assert KEY not in done.out + done.err
