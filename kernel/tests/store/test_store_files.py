"""Large contents beside the database."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from hashlib import sha256
from pathlib import Path

import pytest

from wakeful.store.engine import Store
from wakeful.types import NotFoundError, StoreError

Opener = Callable[..., Awaitable[Store]]


async def test_contents_are_kept_under_their_hash_beside_the_database(path: Path, store: Store) -> None:
    ref = await store.files.put(b"\x00accounts\xff")
    assert ref == sha256(b"\x00accounts\xff").hexdigest()
    assert await store.files.exists(ref)
    assert await store.files.get(ref) == b"\x00accounts\xff"
    where = path.with_name("wakeful.db.files") / ref[:2] / ref[2:4] / ref
    assert where.read_bytes() == b"\x00accounts\xff"


async def test_the_same_bytes_are_stored_once(path: Path, store: Store) -> None:
    refs = await asyncio.gather(*(store.files.put(b"same") for _ in range(8)))
    assert len(set(refs)) == 1
    files = [item for item in path.with_name("wakeful.db.files").rglob("*") if item.is_file()]
    assert [item.name for item in files] == [refs[0]]


async def test_they_are_there_when_the_database_is_opened_again(opened: Opener) -> None:
    first = await opened()
    ref = await first.files.put(b"kept")
    await first.close()
    again = await opened()
    assert await again.files.get(ref) == b"kept"


async def test_of_a_database_in_memory_they_go_with_it(opened: Opener) -> None:
    store = await opened("sqlite://")
    ref = await store.files.put(b"short-lived")
    assert await store.files.get(ref) == b"short-lived"
    folder = store.files.folder
    assert folder is not None
    assert folder.is_dir()
    await store.close()
    assert not folder.exists()


async def test_a_folder_can_be_named(tmp_path: Path, opened: Opener) -> None:
    store = await opened(files=tmp_path / "elsewhere")
    ref = await store.files.put(b"x")
    assert (tmp_path / "elsewhere" / ref[:2] / ref[2:4] / ref).is_file()


async def test_what_is_not_there_is_said(store: Store) -> None:
    missing = "0" * 64
    assert not await store.files.exists(missing)
    with pytest.raises(NotFoundError, match=f"there is no content {missing}"):
        await store.files.get(missing)


@pytest.mark.parametrize("ref", ["", "../../etc/passwd", "A" * 64, "0" * 63])
async def test_only_a_hash_is_a_reference(store: Store, ref: str) -> None:
    with pytest.raises(NotFoundError, match="is not a reference"):
        await store.files.get(ref)


async def test_changed_bytes_are_noticed(path: Path, store: Store) -> None:
    ref = await store.files.put(b"true")
    where = path.with_name("wakeful.db.files") / ref[:2] / ref[2:4] / ref
    where.write_bytes(b"false")
    with pytest.raises(StoreError, match="is damaged; its bytes do not match its name"):
        await store.files.get(ref)


async def test_a_file_in_the_way_is_named(path: Path, store: Store) -> None:
    path.with_name("wakeful.db.files").write_text("not a folder")
    with pytest.raises(StoreError, match=r"wakeful\.db\.files.*: cannot be written"):
        await store.files.put(b"x")


async def test_a_write_that_fails_leaves_no_part(
    path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left on device"):
        await store.files.put(b"x")
    monkeypatch.undo()
    assert [item for item in path.with_name("wakeful.db.files").rglob("*") if item.is_file()] == []
