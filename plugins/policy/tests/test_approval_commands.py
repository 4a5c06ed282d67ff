"""``wakeful approvals``, as users run it."""

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
enable = ["policy", "approvals"]

[agents.desk]
model = "replay:script.jsonl"
actions = ["tools:*"]
approvers = ["ana"]

[[agents.desk.plugins.policy.rules]]
action = "pay"
verdict = "require_approval"
reason = "money leaves the house"
"""
TOOLS = '''
from pathlib import Path

from wakeful import action


@action(effect="external", output_trust="trusted")
def pay(euros: int, to: str) -> str:
    """Pay."""
    with Path("paid.txt").open("a", encoding="utf-8") as file:
        file.write(f"{euros} {to}\\n")
    return "paid"
'''
PAY = {"text": "Let me ask.", "calls": [{"tool": "pay", "args": {"euros": 5, "to": "DE-1\u001b[2J"}}]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    replies = [PAY, {"text": "I have asked."}, {"text": "All done."}]
    (tmp_path / "wakeful.toml").write_text(CONFIG)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "script.jsonl").write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    monkeypatch.chdir(tmp_path)
    main(["run", "desk", "Pay 5 euros", "--user", "bob"])
    capsys.readouterr()
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["approvals", *words])
    streams = capsys.readouterr()
    return code, streams.out + streams.err


def waiting(capsys: pytest.CaptureFixture[str]) -> Any:
    main(["approvals", "list", "--json"])
    (request,) = json.loads(capsys.readouterr().out)["requests"]
    return request


def test_a_card_shows_the_arguments_and_where_they_came_from(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = waiting(capsys)
    code, text = said(capsys, "list")
    assert code == 0
    assert f"{request['card']}, agent desk for bob" in text
    assert "euros = 5  (from the user's words)" in text
    assert "(written by the model)" in text
    assert "why: money leaves the house" in text
    assert "\x1b" not in text
    _, text = said(capsys, "show", request["id"])
    assert f"sha256 of the arguments: {request['digest']}" in text
    assert "may decide: ana\n" in text


def test_approving_runs_the_call_and_prints_what_its_run_says(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = waiting(capsys)["id"]
    code, text = said(capsys, "approve", request, "--as", "eve")
    assert code == 2
    assert "not for 'eve' to decide" in text
    assert not (folder / "paid.txt").exists()
    code, text = said(capsys, "approve", request, "--as", "ana", "--args", '{"euros": 4, "to": "DE-2"}')
    assert (code, text) == (0, f"{request}: approved\nAll done.\n")
    assert (folder / "paid.txt").read_text(encoding="utf-8") == "4 DE-2\n"
    _, text = said(capsys, "show", request)
    assert "'eve' wanted to approve: not this person's to decide" in text
    assert "[approved by ana]" in text
    assert said(capsys, "list") == (0, "nothing waits for a person\n")


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        ('{"eurs": 4, "to": "x"}', "args: "),
        ('{"euros": 4, "to": "x", "to": "y"}', "--args: the values name 'to' twice"),
    ],
)
def test_arguments_that_cannot_be_used_decide_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], args: str, hint: str
) -> None:
    request = waiting(capsys)["id"]
    code, text = said(capsys, "approve", request, "--as", "ana", "--args", args)
    assert (code, hint in text) == (2, True), text
    assert waiting(capsys)["status"] == "pending"
    assert said(capsys, "approve", request, "--as", "ana")[0] == 0


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("money leaves", "much money leaves"), "APPROVAL_VOID"),
        (('"require_approval"', '"deny"'), "POLICY_DENIED"),
        (('"tools:*"', '"failing:*"'), "ERROR"),
    ],
)
def test_an_approved_call_that_does_not_succeed_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], code: str
) -> None:
    request = waiting(capsys)["id"]
    (folder / "wakeful.toml").write_text(CONFIG.replace(*change))
    (folder / "failing.py").write_text(TOOLS.replace('return "paid"', 'raise OSError("no paper")'))
    ended, text = said(capsys, "approve", request, "--as", "ana")
    assert ended == 1
    assert f"{request}: approved, {code}\n" in text
    assert "the call did not succeed: " in text
    assert "All done." in text


def test_rejecting_runs_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said(capsys, "reject", waiting(capsys)["id"], "--as", "ana")
    assert code == 0
    assert "All done." in text
    assert not (folder / "paid.txt").exists()


def test_a_rule_is_added_listed_explained_and_taken_back(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = waiting(capsys)["id"]
    rule = '{"args": {"euros": {"below": 10}}}'
    for wrong, hint in (
        ("[1]", "--rule: expected a JSON object"),
        ('{"args": {"euros": {"above": 10}}}', "rule.args.euros: does not match the call"),
        ('{"verdict": "allow"}', "--rule: would never count: rule 1 is as specific"),
    ):
        code, text = said(capsys, "approve", request, "--as", "ana", "--rule", wrong)
        assert (code, hint in text) == (2, True), text
    assert said(capsys, "approve", request, "--as", "ana", "--rule", rule)[0] == 0
    main(["policy", "list", "desk"])
    listed = capsys.readouterr().out
    assert "added-1" in listed
    assert "argument euros" in listed
    main(["policy", "explain", "desk", "pay", "--args", '{"euros": 5, "to": "X"}'])
    explained = capsys.readouterr().out
    assert "pay (external): allow" in explained
    assert "rule: number added-1, action pay, argument euros, added by ana" in explained
    assert main(["policy", "remove", "desk", "added-2", "--as", "ana"]) == 2
    assert "did you mean 'added-1'" in capsys.readouterr().err
    assert main(["policy", "remove", "desk", "added-1", "--as", "eve"]) == 2
    assert "no approver" in capsys.readouterr().err
    assert main(["policy", "remove", "desk", "added-1", "--as", "ana"]) == 0
    capsys.readouterr()
    main(["policy", "explain", "desk", "pay", "--args", '{"euros": 5, "to": "X"}'])
    assert "pay (external): require_approval" in capsys.readouterr().out


def test_mistakes_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = waiting(capsys)["id"]
    code, text = said(capsys, "show", f"{request}x")
    assert (code, request in text) == (2, True)
    code, text = said(capsys, "approve", request, "--args", "[1]")
    assert (code, "--args: expected a JSON object" in text) == (2, True)
    code, text = said(capsys, "answer", request, "yes", "--as", "ana")
    assert code == 2
    assert waiting(capsys)["status"] == "pending"


def test_a_digest_of_drafts_is_confirmed_one_by_one_after_their_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "wakeful.toml").write_text(CONFIG.replace('"require_approval"', '"stage"'))
    (folder / "script.jsonl").write_text(
        "".join(json.dumps(reply) + "\n" for reply in (PAY, {"text": "They are drafts."}))
    )
    (folder / "wakeful.db").unlink()
    assert main(["run", "desk", "Pay 5 euros", "--user", "bob"]) == 0  # it does not wait for anybody
    capsys.readouterr()
    request = waiting(capsys)
    _, text = said(capsys, "list")
    assert "drafts, to be confirmed or dropped" in text
    assert "euros = 5" in text
    assert said(capsys, "approve", request["id"], "--as", "ana") == (
        0,
        f"{request['id']}: approved, SUCCESS\n",
    )
    assert (folder / "paid.txt").read_text(encoding="utf-8").count("5 DE-1") == 1
    assert said(capsys, "approve", request["id"], "--as", "ana")[0] == 2
    assert said(capsys, "list") == (0, "nothing waits for a person\n")


def test_a_name_that_is_no_text_is_told_in_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("show", "\udcff"), ("approve", "\udcff", "--as", "ana"), ("answer", "\udcff", "x")):
        assert said(capsys, *words) == (2, "error: '\\udcff': is not valid UTF-8\n")
