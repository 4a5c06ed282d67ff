"""Forgetting a conversation, and contents of the file store that nobody keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from wakeful import Agent, action
from wakeful.store.contents import content, keep, sweep
from wakeful.store.tables import kernel_metadata
from wakeful.testing import Database, Gate, ScriptedModel, say
from wakeful.types import ConversationBusyError

AppOf = Callable[..., Any]


@action(effect="read", output_trust="trusted")
async def dump(word: str) -> str:
    """Dump."""
    return word * 20_000


def agent(*replies: Any) -> Agent:
    return Agent(model=ScriptedModel(list(replies)), actions=[dump])


def files(store: Database) -> set[str]:
    folder = store.path.with_name(f"{store.path.name}.files")
    return {path.name for path in folder.rglob("*") if path.is_file()}


async def test_a_conversation_is_deleted_with_all_it_has_and_others_stay(
    wakeful_app: AppOf, store: Database
) -> None:
    calls = say(calls=[("dump", {"word": "own"}), ("dump", {"word": "shared"})])
    async with wakeful_app(agent(calls, "Done.")) as app:
        for conversation in ("one", "two"):
            await app.send("agent", "Go", conversation=conversation)
        assert len(files(store)) == 2
        assert await app.forget("one") is True
        assert len(files(store)) == 2, "the other conversation keeps the same contents"
        assert await app.forget("two") is True
        assert files(store) == set()
        assert await app.forget("two") is False
    left = {
        table.name: store.rows(f'select count(*) as n from "{table.name}"')[0]["n"]
        for table in kernel_metadata.sorted_tables
    }
    assert {name for name, count in left.items() if count} <= {"declaration", "work_item", "outbox"}
    assert not store.rows("select * from work_item where key in ('one', 'two')")


async def test_a_conversation_in_use_is_not_deleted(wakeful_app: AppOf, store: Database) -> None:
    gate = Gate()
    async with wakeful_app(agent(say("Done.", wait=gate))) as app:
        events = app.stream("agent", "Go", conversation="one")
        await anext(events)
        with pytest.raises(ConversationBusyError, match="'one' has a run in progress"):
            await app.forget("one")
        gate.open()
        assert [event async for event in events]
        assert await app.forget("one") is True


async def test_only_what_nobody_keeps_is_swept_and_only_when_it_is_old(
    wakeful_app: AppOf, store: Database
) -> None:
    async with wakeful_app(agent("Done.")) as app:
        await app.send("agent", "Go", conversation="one")
        kept, lost = await app.store.files.put(b"kept"), await app.store.files.put(b"lost")
        for ref in (kept, lost):
            app.store.files.derived(ref, "parquet").write_bytes(b"made from it")
        part = app.store.files.writer()
        part.write(b"never finished")
        for _ in range(2):
            await app.store.write(lambda conn: conn.execute(keep("one", kept)))
        assert await sweep(app.store) == 0
        assert len(files(store)) == 5
        assert await sweep(app.store, grace_s=0) == 1
        assert files(store) == {kept, f"{kept}.parquet"}
        part.abandon()
        assert await app.store.read(lambda conn: list(conn.execute(select(content.c.ref)).scalars())) == [
            kept
        ]
