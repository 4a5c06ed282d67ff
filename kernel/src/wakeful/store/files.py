"""Large contents beside the database, each stored once under the hash of its bytes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from wakeful.store.urls import Target
from wakeful.types.errors import NotFoundError, StoreError

_REF = re.compile(r"[0-9a-f]{64}")


class FileStore:
    """Content-addressed files: ``<folder>/aa/bb/<sha256>``, written whole or not at all.

    Args:
        folder: where they are; made when the first content is put. None means a temporary folder that
            :meth:`close` removes.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._temporary: Path | None = None

    @classmethod
    def beside(cls, target: Target, folder: Path | None = None) -> FileStore:
        """Return the file store of a database: ``folder``, or ``<database>.files`` beside it."""
        if folder is None and target.path is not None:
            folder = target.path.with_name(f"{target.path.name}.files")
        if folder is None and not target.sqlite:
            folder = Path(f"{target.url.database or 'wakeful'}.files").absolute()
        return cls(folder)

    @property
    def folder(self) -> Path | None:
        """Where the contents are; None as long as a temporary folder was not needed."""
        return self._folder or self._temporary

    async def put(self, content: bytes) -> str:
        """Store ``content`` and return its reference. The same bytes have the same reference.

        Raises:
            StoreError: the folder cannot be written.
        """
        return await asyncio.to_thread(self._put, content)

    async def get(self, ref: str) -> bytes:
        """Return the content of ``ref``.

        Raises:
            NotFoundError: there is none.
            StoreError: its bytes are not those that were stored, or cannot be read.
        """
        return await asyncio.to_thread(self._get, ref)

    async def exists(self, ref: str) -> bool:
        """Return whether there is a content ``ref``."""
        path = self._path(ref)
        return await asyncio.to_thread(path.is_file)

    def _put(self, content: bytes) -> str:
        ref = hashlib.sha256(content).hexdigest()
        path = self._path(ref)
        if path.is_file():
            return ref
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_whole(path, content)
        except OSError as error:
            raise StoreError(f"file store {path.parent}: cannot be written ({error.strerror})") from error
        return ref

    def _get(self, ref: str) -> bytes:
        path = self._path(ref)
        try:
            content = path.read_bytes()
        except FileNotFoundError as error:
            raise NotFoundError(f"file store {path.parent}: there is no content {ref}") from error
        except OSError as error:
            raise StoreError(f"file store {path}: cannot be read ({error.strerror})") from error
        if hashlib.sha256(content).hexdigest() != ref:
            raise StoreError(f"file store {path}: is damaged; its bytes do not match its name")
        return content

    def close(self) -> None:
        """Remove the folder if it is a temporary one."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def _path(self, ref: str) -> Path:
        if not _REF.fullmatch(ref):
            raise NotFoundError(f"file store: {ref!r} is not a reference (64 hexadecimal digits)")
        return self._root() / ref[:2] / ref[2:4] / ref

    def _root(self) -> Path:
        if self._folder is not None:
            return self._folder
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="wakeful-files-"))
        return self._temporary


def _write_whole(path: Path, content: bytes) -> None:
    """Write so that the name appears only with all of its bytes on the disk."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
