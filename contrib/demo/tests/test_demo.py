"""The demonstration, as a user runs it."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")


def run(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    base = {key: value for key, value in os.environ.items() if key not in KEYS}
    return subprocess.run(
        [sys.executable, "-m", "wakeful", "demo", *args],
        capture_output=True,
        text=True,
        env=base | {"COLUMNS": "200"} | env,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("demo") / "office"
    done = run("--folder", str(folder))
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def query(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "company.db")) as connection:
        return connection.execute(sql).fetchall()


def test_it_says_that_a_script_is_played(office: tuple[Path, str]) -> None:
    assert office[1].startswith("No key is set: the model's side is a script")


def test_it_ends_with_the_table(office: tuple[Path, str]) -> None:
    table = office[1][office[1].index("What it took") :]
    assert all(
        column in table for column in ("steps", "actions", "tokens in", "cached", "tokens out", "cost")
    )
    last = re.findall(r"[\d,]+", next(line for line in table.splitlines() if "all" in line))
    assert last[:2] == ["9", "11"]


def test_it_says_what_the_prompts_would_cost(office: tuple[Path, str]) -> None:
    line = next(line for line in office[1].splitlines() if line.startswith("Prompt cache: 9 requests"))
    hit, cached, plain, in_system = re.fullmatch(
        r".*hit ratio ([\d.]+);.* (?:[\d,]+) tokens, ([\d.]+) of .* \(([\d,]+)\) and ([\d.]+) of .*", line
    ).groups()  # type: ignore[union-attr]  # no match is a failure too
    assert float(hit) > 0.75
    assert float(cached) < 0.4
    assert int(plain.replace(",", "")) > 10_000
    assert float(in_system) < 0.6


def test_the_answer_agrees_with_the_database(office: tuple[Path, str]) -> None:
    folder, printed = office
    fresh = folder.parent / "fresh"
    assert run("--folder", str(fresh), "--setup").returncode == 0
    overdue = query(
        fresh,
        "SELECT c.name, SUM(i.amount) FROM invoices i JOIN customers c ON c.id = i.customer_id "
        "WHERE i.status = 'open' AND i.due < '2026-11-16' GROUP BY c.name",
    )
    text = " ".join(printed.split())
    assert len(overdue) == 5
    for name, owed in overdue:
        assert f"{name} {owed:,.2f}" in text
    assert f"{sum(float(str(owed)) for _, owed in overdue):,.2f} in all" in text


def test_it_changed_what_was_asked(office: tuple[Path, str]) -> None:
    folder, _ = office
    assert query(folder, "SELECT phone FROM customers WHERE id = 1") == [("+46 31 555 0199",)]
    assert query(folder, "SELECT status FROM invoices WHERE id = 1008") == [("paid",)]


def test_a_model_that_a_mail_has_taken_over_sends_nothing_out(office: tuple[Path, str]) -> None:
    scene = office[1][office[1].index("A scene with a hostile mail") :]
    text = " ".join(scene[: scene.index("A scene with a sub-agent")].split())
    assert text.count("fails POLICY_APPROVAL_REQUIRED") == 4
    assert 'to = "audit@ledger-check.example" (from outside: action:Read Mail, untrusted)' in text
    assert "Mail went to: sara@lindqvist.example What it took" in text
    assert "ana rejects all of it. in the end Sara has her answer." in text
    mails = query(office[0], "SELECT recipient, body FROM outbox WHERE subject <> 'Reminder'")
    assert mails == [("sara@lindqvist.example", "thank you for the new number")]
    assert query(office[0], "SELECT count(*) FROM inbox") == [(4,)]


def test_a_sub_agent_reads_the_mail(office: tuple[Path, str]) -> None:
    text = " ".join(office[1][office[1].index("A scene with a sub-agent") :].split())
    assert "calls delegate_to_clerk" in text
    assert "below chief, step 1: clerk took 2 steps and is completed" in text
    assert "Elena Solano says that invoice 1008 is paid." in text


def test_a_flow_reminds_who_is_overdue(office: tuple[Path, str]) -> None:
    folder, printed = office
    fresh = folder.parent / "overdue"
    assert run("--folder", str(fresh), "--setup").returncode == 0
    late = "SELECT count(*) FROM invoices WHERE status = 'open' AND due < '2026-11-01'"
    # The main scene came first, and marked one of them as paid.
    ((before,),) = query(fresh, late)
    assert query(folder, "SELECT count(*) FROM outbox WHERE subject = 'Reminder'") == [
        (int(str(before)) - 1,)
    ]
    assert "The reminders for everything" in printed[printed.index("A scene with a flow") :]


def test_one_scene_alone(tmp_path: Path) -> None:
    done = run("--scene", "flow", "--folder", str(tmp_path / "office"))
    assert done.returncode == 0, done.stderr
    assert "A scene with a flow" in done.stdout
    assert "Who owes us money" not in done.stdout
    wrong = run("--scene", "flwo")
    assert wrong.stderr == "error: --scene: unknown scene 'flwo'; did you mean 'flow'?\n"


def test_a_folder_in_use_is_left_alone(office: tuple[Path, str]) -> None:
    folder, _ = office
    before = (folder / "company.db").read_bytes()
    done = run("--folder", str(folder))
    assert done.returncode == 2
    assert "already holds company.db" in done.stderr
    assert (folder / "company.db").read_bytes() == before


def test_setup_needs_a_folder() -> None:
    done = run("--setup")
    assert (done.returncode, done.stderr) == (2, "error: --setup needs a --folder to write to\n")


def test_an_unknown_model_is_one_clear_line() -> None:
    done = run("--model", "replai:x.jsonl")
    assert done.returncode != 0
    assert "replay" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_key_without_its_plugin_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from wakeful_demo import setup

    monkeypatch.setattr(setup, "installed", dict)
    model, why = setup.choose_model({"OPENAI_API_KEY": "k"})
    assert model == setup.SCRIPT
    assert "wakeful-openai is not installed" in why
