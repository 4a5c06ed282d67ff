"""``wakeful artifacts``: people see, query and take along what a conversation stored."""

from __future__ import annotations

import base64
import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from wakeful import Agent, action
from wakeful.cli.main import main
from wakeful.testing import Database, TurnResult, say

DEALS: list[dict[str, Any]] = [
    {
        "id": f"crm-{number}",
        "owner": f"o{number % 3}",
        "amount": number * 100,
        "won": number % 2 == 0,
        "tags": ["a"],
    }
    for number in range(200)
]
CONFIG = '[store]\nurl = "{url}"\n[agents.desk]\nmodel = "scripted:x"\n'
PDF = b"%PDF-1.7 not really" * 800


class Result:
    """How a command ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        """Its document."""
        return json.loads(self.out)


@pytest.fixture
def artifacts(
    run_turn: Callable[..., TurnResult],
    store: Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Result]:
    """A conversation ``c`` with a table [A], a long table [B], JSON [C], a text [D] and a medium [E]."""

    @action(effect="read")
    def give(number: int) -> Any:
        """Give."""
        return [
            DEALS,
            ({**deal, "again": place} for place in range(20) for deal in DEALS),
            {"deals": {"list": DEALS[:20], "more": DEALS[20:]}},
            "first line\n" + "a line to read\n" * 900,
            base64.b64encode(PDF).decode(),
        ][number]

    replies = [say(calls=[("give", {"number": number}) for number in range(5)]), "Done."]
    run_turn(Agent(model="", actions=[give], plugins=["spillover"]), "Go", replies=replies, conversation="c")
    (tmp_path / "wakeful.toml").write_text(CONFIG.format(url=store.url))
    monkeypatch.chdir(tmp_path)

    def run(*args: str) -> Result:
        capsys.readouterr()
        code = main(["artifacts", *args])
        return Result(code, *capsys.readouterr())

    return run


def test_they_are_listed_with_what_they_are(artifacts: Callable[..., Result]) -> None:
    lines = artifacts("list", "c").out.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [
        ["A", "table"],
        ["B", "table"],
        ["C", "json"],
        ["D", "text"],
        ["E", "media"],
    ]
    assert lines[2].split()[2] == "4,000"
    first = artifacts("list", "c", "--json").json["artifacts"][0]
    assert (first["rows"], first["trust"], first["seq"]) == (200, "untrusted", 3)
    assert first["columns"][0] == {"name": "id", "type": "text"}
    other = artifacts("list", "cc")
    assert (other.code, other.err) == (2, "error: there is no conversation 'cc'; did you mean 'c'?\n")


def test_each_kind_is_shown(artifacts: Callable[..., Result]) -> None:
    table = artifacts("show", "c", "A").out
    assert "[A] table, 200 rows, " in table
    assert "columns: id text, owner text, amount integer, won boolean, tags array" in table
    assert "crm-9 " in table
    assert "crm-10 " not in table
    assert "[20 x {amount: integer, id: text" in artifacts("show", "c", "C").out
    assert "1: first line\n2: a line to read\n" in artifacts("show", "c", "d").out
    assert artifacts("show", "c", "[E]", "--json").json["media"] == "application/pdf"
    missing = artifacts("show", "c", "Q")
    assert missing.code == 2
    assert "there is no artifact 'Q'" in missing.err
    assert "there is no conversation 'other'" in artifacts("show", "other", "A").err
    near = artifacts("query", "c", "A", "--where", "amont gt 4").err
    assert near.startswith("error: there is no column 'amont'; did you mean 'amount'? Columns: id, ")
    assert "[A], [B], [C], [D], [E]" in missing.err


def test_people_ask_what_models_ask(artifacts: Callable[..., Result]) -> None:
    where = ["--where", "amount ge 19000", "--where", "owner in o1, o2"]
    found = artifacts("query", "c", "A", *where, "--columns", "id,amount", "--sort", "-amount", "--json").json
    wanted = [d for d in reversed(DEALS) if d["amount"] >= 19_000 and d["owner"] in {"o1", "o2"}]
    assert [row["id"] for row in found["rows"]] == [d["id"] for d in wanted]
    grouped = artifacts(
        "query", "c", "B", "--group-by", "owner", "--aggregate", "sum amount"
    ).out.splitlines()
    sums = [20 * sum(d["amount"] for d in DEALS if d["owner"] == f"o{n}") for n in range(3)]
    assert [line.split() for line in grouped] == [
        ["owner", "sum_amount"],
        *([f"o{n}", str(total)] for n, total in enumerate(sums)),
    ]
    assert artifacts("query", "c", "C", "--path", "$.deals.list[3].id").out == "crm-3\n"
    assert artifacts("query", "c", "D", "--grep", "^first").out == "1: first line\n"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--where", "amount greater 5"], "expected COLUMN OP VALUE"),
        (["--where", "amuont gt 5"], "there is no column 'amuont'"),
        (["--aggregate", "summ amount"], "'summ' is not known; did you mean 'sum'?"),
        (["--path", "$["], "is no path"),
    ],
)
def test_a_wrong_question_is_one_clear_line(
    artifacts: Callable[..., Result], args: list[str], said: str
) -> None:
    done = artifacts("query", "c", "A", *args)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err


def test_everything_can_be_taken_along(artifacts: Callable[..., Result], tmp_path: Path) -> None:
    for name in ("deals.csv", "deals.json", "deals.jsonl", "deals.parquet"):
        assert artifacts("export", "c", "A", name).code == 0
        assert artifacts("export", "c", "B", f"long-{name}").code == 0
    with (tmp_path / "deals.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[2] == {"id": "crm-2", "owner": "o2", "amount": "200", "won": "true", "tags": '["a"]'}
    assert json.loads((tmp_path / "deals.json").read_text()) == DEALS
    assert [json.loads(line) for line in (tmp_path / "deals.jsonl").read_text().splitlines()] == DEALS
    with duckdb.connect() as db:
        query = "SELECT id, amount, won FROM read_parquet(?)"
        found = db.execute(query, [str(tmp_path / "deals.parquet")]).fetchall()
        count = db.execute("SELECT count(*), max(again) FROM 'long-deals.parquet'").fetchone()
    assert found == [(deal["id"], deal["amount"], deal["won"]) for deal in DEALS]
    assert count == (4_000, 19)
    assert len(json.loads((tmp_path / "long-deals.json").read_text())) == 4_000
    assert artifacts("export", "c", "C", "nested.json", "--json").json["handle"] == "C"
    assert json.loads((tmp_path / "nested.json").read_text())["deals"]["list"] == DEALS[:20]
    assert artifacts("export", "c", "D", "log.txt").code == 0
    assert (tmp_path / "log.txt").read_text().startswith("first line\na line")
    assert artifacts("export", "c", "E", "paper.pdf").code == 0
    assert (tmp_path / "paper.pdf").read_bytes() == PDF
    assert sorted(path.name for path in tmp_path.glob(".part-*")) == []


def test_nothing_is_overwritten_and_no_kind_is_forced(
    artifacts: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "there.csv").write_text("mine")
    assert "is there already; --force overwrites it" in artifacts("export", "c", "A", "there.csv").err
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert artifacts("export", "c", "A", "there.csv", "--force").code == 0
    wrong = artifacts("export", "c", "C", "nested.csv")
    assert (wrong.code, "of kind json, which is written as .json" in wrong.err) == (2, True)
    assert "cannot be written" in artifacts("export", "c", "D", "no/such/folder.txt").err


def test_a_database_without_the_table_says_what_to_do(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wakeful.toml").write_text(CONFIG.format(url="sqlite:///none.db"))
    assert main(["artifacts", "list", "c"]) == 3
    assert "none.db" in capsys.readouterr().err
    assert not (tmp_path / "none.db").exists()
