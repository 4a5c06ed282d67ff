"""``wakeful policy``: list, explain and test, as users run them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wakeful.cli.main import main

CONFIG = """
[store]
url = "sqlite:///wakeful.db"

[plugins]
enable = ["policy"]

[agents.desk]
model = "replay:script.jsonl"
actions = ["tools:*"]

[[agents.desk.plugins.policy.rules]]
action = "send_email"
verdict = "deny"
reason = "mail is closed"

[[agents.desk.plugins.policy.rules]]
action = "send_email"
args = { to = { like = "*@example.com" } }
verdict = "allow"

[agents.plain]
model = "replay:script.jsonl"
actions = ["tools:*"]
plugins.disable = ["policy"]
"""
TOOLS = '''
from wakeful import action


@action(effect="external", output_trust="trusted")
def send_email(to: str) -> str:
    """Send a mail."""
    return to


@action(effect="external", output_trust="trusted")
def pay(euros: int) -> str:
    """Pay."""
    return ""
'''
CASES = """
[[case]]
agent = "desk"
action = "send_email"
args = { to = "ana@example.com" }
expect = "allow"

[[case]]
agent = "desk"
action = "pay"
args = { euros = 5 }
expect = "allow"
"""
DEEP = '{"euros": ' + "[" * 3000 + "]" * 3000 + "}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "wakeful.toml").write_text(CONFIG)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "script.jsonl").write_text(json.dumps({"text": "Hi."}) + "\n")
    (tmp_path / "cases.toml").write_text(CASES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["policy", *words])
    streams = capsys.readouterr()
    return code, streams.out + streams.err


def document(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    main(["policy", *words, "--json"])
    return json.loads(capsys.readouterr().out)


def test_explain_names_rule_plugin_verdict_and_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = said(capsys, "explain", "desk", "Send Email", "--args", '{"to": "bob@elsewhere.org"}')
    assert code == 0
    assert "send_email (external): deny" in text
    assert "rule: number 1" in text
    assert "policy says deny: mail is closed" in text
    found = document(capsys, "explain", "desk", "send_email", "--args", '{"to": "ana@example.com"}')
    assert (found["verdict"], found["rule"]["number"]) == ("allow", 2)
    assert not (folder / "wakeful.db").exists()


def test_explain_says_what_holds_without_a_rule_or_the_plugin(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = document(capsys, "explain", "desk", "pay", "--args", '{"euros": 5}')
    assert (found["verdict"], found["rule"]) == ("require_approval", None)
    assert found["answers"][0]["fallback"] is True
    _, text = said(capsys, "explain", "plain", "pay", "--args", '{"euros": 5}')
    assert "pay (external): allow" in text
    assert "the plugin policy is off for this agent" in text


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("explain", "dsk", "pay"), "did you mean 'desk'"),
        (("explain", "desk", "send_mail"), "did you mean 'send_email'"),
        (("explain", "desk", "pay", "--args", "5"), "expected a JSON object"),
        (("explain", "desk", "pay", "--args", '{"euro": 5}'), "did you mean 'euros'?"),
        (("explain", "desk", "pay", "--args", '{"euros": 5}', "--at", "noon"), "--at: 'noon' is no time"),
        (("explain", "desk", "pay", "--at", "9999-12-31T23:59"), "--at: 9999-12-31 is out of reach"),
        (("explain", "desk", "pay", "--at", "0001-01-01T00:00"), "--at: 0001-01-01 is out of reach"),
        (("explain", "desk", "pay", "--args", '{"euros": 5, "euros": 6}'), "name 'euros' twice"),
        (("explain", "desk", "pay", "--args", DEEP), "--args: the arguments nest deeper than 64 levels"),
    ],
)
def test_wrong_questions_are_told_what_was_expected(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], hint: str
) -> None:
    code, text = said(capsys, *words)
    assert code == 2
    assert hint in text


def test_list_shows_the_most_specific_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "list", "desk")
    assert [each["number"] for each in found["rules"]] == [2, 1]
    code, text = said(capsys, "list", "plain")
    assert (code, "off" in text) == (0, True)


def test_a_table_of_cases_fails_where_a_verdict_is_another(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = said(capsys, "test", "cases.toml")
    assert code == 1
    assert "case 2: desk pay {'euros': 5}: expected allow, got require_approval" in text
    (folder / "cases.toml").write_text(
        CASES.replace('5 }\nexpect = "allow"', '5 }\nexpect = "require_approval"')
    )
    assert said(capsys, "test", "cases.toml")[0] == 0
    (folder / "cases.toml").write_text(CASES.replace('"allow"', '"alow"'))
    code, text = said(capsys, "test", "cases.toml")
    assert (code, "did you mean 'allow'" in text) == (2, True)


def test_everything_that_is_wrong_with_a_table_is_named_by_its_case(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = CASES.replace('"pay"', '"pya"').replace('to = "ana@example.com"', "to = 5")
    (folder / "cases.toml").write_text(wrong)
    code, text = said(capsys, "test", "cases.toml")
    assert code == 2
    assert "cases.toml.case[0].args: 'to' must be a string" in text
    assert "cases.toml.case[1]: agent 'desk' has no action 'pya'; did you mean 'pay'" in text


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("euros = 5", f"euros = {'[' * 2000}{']' * 2000}", "cases.toml: a value nests deeper than 64 levels"),
        ("euros = 5", f"euros = {'[' * 70}{']' * 70}", "case[1].args: arguments of pay nest deeper than 64"),
        ('"pay"', '"pay"\nat = "9999-12-31T23:59"', "at: 9999-12-31 is out of reach; expected a year from 2"),
    ],
)
def test_cases_that_cannot_be_judged_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, hint: str
) -> None:
    (folder / "cases.toml").write_text(CASES.replace(old, new))
    code, text = said(capsys, "test", "cases.toml")
    assert (code, hint in text) == (2, True), text


def test_explain_says_where_one_item_of_a_list_sufficed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tools.py").write_text(TOOLS.replace("to: str", "to: list[str]"))
    (folder / "wakeful.toml").write_text(
        CONFIG.replace('"deny"', '"allow"').replace(
            'com" } }\nverdict = "allow"', 'com" } }\nverdict = "deny"'
        )
    )
    mixed = ("explain", "desk", "send_email", "--args", '{"to": ["a@example.com", "b@elsewhere.org"]}')
    _, text = said(capsys, *mixed)
    assert "send_email (external): deny" in text
    assert "rule: number 2, action send_email, argument to; one item of a list that meets it suffices" in text
    assert document(capsys, *mixed)["whole"] is False
    _, text = said(capsys, "explain", "desk", "send_email", "--args", '{"to": ["a@example.com"]}')
    assert "rule: number 2, action send_email, argument to\n" in text


def test_windows_are_tested_at_any_time(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "wakeful.toml").write_text(
        CONFIG.replace('verdict = "allow"', 'verdict = "allow"\nwhen = ["Mon-Fri 09:00-17:00"]')
    )
    case = '[[case]]\nagent = "desk"\naction = "send_email"\nargs = { to = "ana@example.com" }\n'
    table = (
        f'{case}at = "2026-03-04T12:00"\nexpect = "allow"\n{case}at = "2026-03-07T12:00"\nexpect = "defer"\n'
    )
    (folder / "cases.toml").write_text(table)
    assert said(capsys, "test", "cases.toml")[0] == 0
    words = (
        "explain",
        "desk",
        "send_email",
        "--args",
        '{"to": "ana@example.com"}',
        "--at",
        "2026-03-07T12:00",
    )
    _, text = said(capsys, *words)
    assert "send_email (external): defer" in text
    assert "possible again from 2026-03-09 09:00 (UTC)" in text
