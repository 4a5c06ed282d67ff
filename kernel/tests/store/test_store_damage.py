"""What a check says of a database that somebody has changed by hand."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from wakeful import ActionContext, Agent, action
from wakeful.app import open as open_app
from wakeful.store.maintain import check
from wakeful.testing import FakeClock, FakeIds, ScriptedModel, say
from wakeful.testing.databases import migrated


@action(effect="read", output_trust="trusted")
async def look(ctx: ActionContext) -> str:
    """Look."""
    return "seen"


@action(effect="read", output_trust="trusted", idempotent=True)
async def look_twice(ctx: ActionContext) -> str:
    """Look inside, and inside of that."""
    name = "look" if ctx.key.count("/") > 2 else "look_twice"
    return (await ctx.call(name, {}, inner=0)).message


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a database with a run of two calls, one with calls in each other."""
    path = migrated(tmp_path_factory.mktemp("damage") / "sound.db")
    model = ScriptedModel([say(calls=[("look", {}), ("look_twice", {})]), "Done."])
    agent = Agent(model=model, actions=[look, look_twice], store=f"sqlite:///{path}")

    async def play() -> None:
        async with open_app(agent, clock=FakeClock(), ids=FakeIds()) as app:
            await app.send("agent", "Look", conversation="c")

    asyncio.run(play())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def said(sound: Path, folder: Path, *statements: str) -> list[str]:
    shutil.copyfile(sound, path := folder / "wakeful.db")
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount > 0, statement
        connection.commit()
    return [str(problem) for problem in check(f"sqlite:///{path}")]


def test_nothing_is_wrong_before(sound: Path, tmp_path: Path) -> None:
    assert said(sound, tmp_path) == []


DAMAGES: dict[str, list[str]] = {
    "DELETE FROM message WHERE seq = 3": [
        "row 3 is missing; row 4 follows row 2",
        "row 4 answers call 'call_1_2' before the calls in front of it",
        "call 'call_1_1' of row 2 has no result",
        "row 3, which is missing, answers look (run-1/1/0)",
    ],
    "UPDATE conversation SET next_seq = 9": ["the next row would be 9, but should be 6"],
    "UPDATE message SET seq = 105 WHERE seq = 5": [
        "row 5 is missing; row 105 follows row 4",
        "should be 106",
    ],
    "UPDATE message SET items = '[]' WHERE seq = 4": [
        "call 'call_1_2' of row 2 has no result",
    ],
    "UPDATE message SET items = '{\"cut' WHERE seq = 4": [
        "row 4 cannot be read (JSONDecodeError",
        "call 'call_1_2' of row 2 has no result",
    ],
    "UPDATE message SET items = '[7]' WHERE seq = 2": [
        "row 2 cannot be read (TypeError",
        "row 3 answers call 'call_1_1', which no row before it waits for",
        "row 4 answers call 'call_1_2', which no row before it waits for",
    ],
    "UPDATE action_call SET result_seq = NULL WHERE inner = 0 AND action = 'look' AND parent IS NOT NULL": [
        "no row answers look (run-1/1/1/0/0)"
    ],
    "DELETE FROM conversation": [
        "table message: 5 rows refer to rows of conversation that are gone",
        "table run: 1 rows refer to rows of conversation that are gone",
    ],
    "DELETE FROM run": ["table action_call: 4 rows refer to rows of run that are gone"],
}


@pytest.mark.parametrize("statement", DAMAGES)
def test_each_damage_is_named(sound: Path, tmp_path: Path, statement: str) -> None:
    found = said(sound, tmp_path, statement)
    missing = [text for text in DAMAGES[statement] if not any(text in line for line in found)]
    assert not missing, found
