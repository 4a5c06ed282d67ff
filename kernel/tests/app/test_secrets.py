"""What came from the environment reaches no transcript, no record and no event."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import wakeful
from wakeful.testing import Database, FakeClock, FakeIds, ScriptedModel, say
from wakeful.types import ModelError

SECRET = 'sk-"quoted"-4711-secret'

FILE = """
[agents.desk]
model = "scripted:any"
instructions = "Help."
actions = ["vault:*"]

[plugins.unused]
key = "${env:TEST_VAULT_KEY}"
"""

VAULT = """
import os
from wakeful import ActionError, action

@action(effect="read", output_trust="trusted")
async def leak() -> dict[str, str]:
    "Leak."
    return {"note": "the key is " + os.environ["TEST_VAULT_KEY"]}

@action(effect="read", output_trust="trusted")
async def fail() -> str:
    "Fail."
    raise ActionError("DENIED", "bad key " + os.environ["TEST_VAULT_KEY"])

@action(effect="read", output_trust="trusted")
async def crash() -> str:
    "Crash."
    raise RuntimeError(os.environ["TEST_VAULT_KEY"])
"""


@pytest.fixture
def file(tmp_path: Path, store: Database, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TEST_VAULT_KEY", SECRET)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "vault.py").write_text(VAULT)
    path = tmp_path / "wakeful.toml"
    path.write_text(f'[store]\nurl = "{store.url}"\n{FILE}')
    return path


def everything(store: Database) -> str:
    tables = [row["name"] for row in store.rows("select name from sqlite_master where type = 'table'")]
    return json.dumps([store.rows(f"select * from {table}") for table in tables], default=str)


async def test_a_secret_that_an_action_leaks_is_masked_everywhere(
    file: Path, store: Database, clock: FakeClock, ids: FakeIds, caplog: pytest.LogCaptureFixture
) -> None:
    model = ScriptedModel([say(calls=["leak", "fail", "crash"]), ModelError("server", f"rejected {SECRET}")])
    caplog.set_level(logging.DEBUG, "wakeful")
    async with wakeful.open(file, clock=clock, ids=ids, model=model) as app:
        events: list[Any] = [event async for event in app.stream("desk", "Go")]
    answer = events[-1].answer
    spelled = json.dumps(SECRET)[1:-1]
    for text in (everything(store), repr(events), model.requests[1].canonical(), answer.error, caplog.text):
        assert SECRET not in text
        assert spelled not in text
        assert "4711" not in text
    assert "[secret]" in model.requests[1].canonical()
    assert answer.error == "server: rejected [secret]"
