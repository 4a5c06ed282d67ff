"""Large contents beside the database, each stored once under the hash of its bytes."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from wakeful.store.urls import Target
from wakeful.types.errors import NotFoundError, StoreError

_REF = re.compile(r"[0-9a-f]{64}")
_SUFFIX = re.compile(r"[a-z0-9]{1,16}")
#: What a content is called while it is being written.
_PART = ".part-"
#: Bytes read or written at once.
CHUNK = 1 << 20
#: Seconds that a content may be there before the transaction that keeps it commits. The longest wait for a
#: turn to write is a minute; an hour leaves room for a stalled process.
GRACE_S = 3600.0


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
        path = self.path(ref)
        return await asyncio.to_thread(path.is_file)

    def path(self, ref: str) -> Path:
        """Return where the content of ``ref`` is, or would be; for reading only.

        Raises:
            NotFoundError: ``ref`` is no reference.
        """
        if not _REF.fullmatch(ref):
            raise NotFoundError(f"file store: {ref!r} is not a reference (64 hexadecimal digits)")
        return self._root() / ref[:2] / ref[2:4] / ref

    def derived(self, ref: str, suffix: str) -> Path:
        """Return where something made from ``ref`` belongs; it is removed with its content.

        Args:
            ref: the content.
            suffix: 1 to 16 lower-case letters or digits.
        """
        if not _SUFFIX.fullmatch(suffix):
            raise ValueError(f"suffix {suffix!r}: expected 1 to 16 lower-case letters or digits")
        return self.path(ref).with_name(f"{ref}.{suffix}")

    def writer(self) -> FileWriter:
        """Return a writer for a content that is produced piece by piece. Blocking; for a thread.

        Raises:
            StoreError: the folder cannot be written.
        """
        return FileWriter(self)

    def remove(self, refs: Iterable[str]) -> None:
        """Remove contents and what was made from them. Blocking; for a thread."""
        for ref in refs:
            path = self.path(ref)
            for each in (*path.parent.glob(f"{ref}.*"), path):
                each.unlink(missing_ok=True)

    def sweep(self, kept: Callable[[str], bool], *, grace_s: float = GRACE_S) -> int:
        """Remove contents that nobody keeps and what unfinished writers left. Blocking; for a thread.

        Args:
            kept: whether a reference is kept.
            grace_s: seconds for which a content is left alone after it was put.

        Returns:
            How many contents were removed.
        """
        folder = self.folder
        if folder is None or not folder.is_dir():
            return 0
        before, removed = time.time() - grace_s, 0
        for path in sorted(folder.glob(f"{_PART}*")) + sorted(folder.glob("??/??/*")):
            ref = path.name.partition(".")[0]
            if (_REF.fullmatch(ref) and kept(ref)) or not _old(path, before):
                continue
            path.unlink(missing_ok=True)
            removed += _REF.fullmatch(path.name) is not None
        return removed

    def close(self) -> None:
        """Remove the folder if it is a temporary one."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def _put(self, content: bytes) -> str:
        ref = hashlib.sha256(content).hexdigest()
        if touched(self.path(ref)):
            return ref
        writer = self.writer()
        try:
            writer.write(content)
            return writer.finish()
        finally:
            writer.abandon()

    def _get(self, ref: str) -> bytes:
        path = self.path(ref)
        try:
            content = path.read_bytes()
        except FileNotFoundError as error:
            raise NotFoundError(f"file store {path.parent}: there is no content {ref}") from error
        except OSError as error:
            raise StoreError(f"file store {path}: cannot be read ({error.strerror})") from error
        if hashlib.sha256(content).hexdigest() != ref:
            raise StoreError(f"file store {path}: is damaged; its bytes do not match its name")
        return content

    def _root(self) -> Path:
        if self._folder is not None:
            return self._folder
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="wakeful-files-"))
        return self._temporary

    def made_root(self) -> Path:
        """Return the folder, which exists afterwards."""
        root = self._root()
        root.mkdir(parents=True, exist_ok=True)
        return root


class FileWriter:
    """Writes one content; its name appears only with all of its bytes on the disk.

    Use from one thread at a time. :meth:`abandon` is harmless after :meth:`finish`.
    """

    def __init__(self, store: FileStore) -> None:
        self._store, self._hash, self.size = store, hashlib.sha256(), 0
        try:
            handle, name = tempfile.mkstemp(dir=store.made_root(), prefix=_PART)
        except OSError as error:
            raise StoreError(f"file store {store.folder}: cannot be written ({error.strerror})") from error
        self._file = os.fdopen(handle, "wb", buffering=CHUNK)
        self._part: Path | None = Path(name)

    def write(self, content: bytes) -> None:
        """Add bytes.

        Raises:
            StoreError: the disk is full, or cannot be written for another reason.
        """
        try:
            self._file.write(content)
        except OSError as error:
            raise self._unwritable(error) from error
        self._hash.update(content)
        self.size += len(content)

    def finish(self) -> str:
        """Put the content in its place and return its reference.

        Raises:
            StoreError: the disk is full, or cannot be written for another reason.
        """
        ref = self._hash.hexdigest()
        path = self._store.path(ref)
        try:
            if not touched(path):
                self._file.flush()
                os.fsync(self._file.fileno())
                fresh = not path.parent.exists()
                path.parent.mkdir(parents=True, exist_ok=True)
                if self._part is not None:
                    self._part.replace(path)
                    self._part = None
                for folder in path.parents[: 3 if fresh else 1]:  # a new folder is an entry of another
                    _sync(folder)
        except OSError as error:
            raise self._unwritable(error) from error
        self.abandon()
        return ref

    def abandon(self) -> None:
        """Leave nothing behind of what is not finished."""
        part, self._part = self._part, None
        if part is not None:
            part.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # a full disk refuses what nobody wants any more
            self._file.close()

    def _unwritable(self, error: OSError) -> StoreError:
        return StoreError(f"file store {self._store.folder}: cannot be written ({error.strerror})")


def touched(path: Path) -> bool:
    """Return whether there is a file, and make it young, so that no sweep takes it for abandoned."""
    try:
        os.utime(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _old(path: Path, before: float) -> bool:
    try:
        return path.stat().st_mtime <= before
    except FileNotFoundError:
        return False


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
