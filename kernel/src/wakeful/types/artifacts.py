"""Outputs that are too large for memory and prompt: contents in the file store, and handles to them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from attrs import field, frozen

from wakeful.types.enums import Trust
from wakeful.types.json import Json

#: Items taken from one iterator; what is beyond is not read, and the result's message says so.
ITEM_CAP = 1_000_000


@frozen
class Spooled:
    """An output that is in the file store; stands for its value in ``ActionResult.outputs``.

    Args:
        ref: reference of its content: the sha256 of its bytes.
        size: bytes.
        form: ``records`` (one JSON object on each line), ``json``, ``text`` (UTF-8) or ``bytes``.
        rows: number of records; None for other forms.
        columns: of records: name and type, in order of first appearance. A type is ``text``, ``integer``,
            ``number``, ``boolean``, ``object``, ``array``, ``null``, or ``mixed``.
        media: of bytes: the media type, e.g. ``image/png``.
        value: the value itself, as long as the process that made it still has it.
    """

    ref: str
    size: int
    form: str
    rows: int | None = None
    columns: tuple[tuple[str, str], ...] = ()
    media: str = ""
    value: Json = field(default=None, eq=False, repr=False)


@frozen
class Artifact:
    """A stored output that the model knows by a handle.

    Args:
        handle: ``A`` … ``Z``, ``AA`` … as the conversation counts them; written ``[A]`` in texts.
        kind: ``table``, ``json``, ``text`` or ``media``.
        name: what made it.
        size: bytes.
        rows: rows of a table, else None.
        trust: the worst of everything that gave this content.
        version: 1, or more if an action replaced others under the same name.
    """

    handle: str
    kind: str
    name: str
    size: int
    rows: int | None = None
    trust: Trust = Trust.UNTRUSTED
    version: int = 1


class ContentWriter(Protocol):
    """Writes one content piece by piece. Its methods block: use it in a thread."""

    size: int
    """Bytes written so far."""

    def write(self, content: bytes) -> None:
        """Add bytes.

        Raises:
            StoreError: the disk is full, or cannot be written for another reason.
        """
        ...

    def finish(self) -> str:
        """Put the whole content in its place and return its reference.

        Raises:
            StoreError: as for :meth:`write`.
        """
        ...

    def abandon(self) -> None:
        """Leave nothing behind of what is not finished; harmless afterwards."""
        ...


@frozen
class Medium:
    """An image, sound or document that a result gave and no plugin keeps as an artifact.

    Args:
        handle: written in texts, e.g. ``media:3f2a91c07be4``; an answer carries the media it names.
        type: its media type, e.g. ``image/png``.
        size: bytes.
        ref: reference of its content in the file store.
    """

    handle: str
    type: str
    size: int
    ref: str


class Files(Protocol):
    """Large contents beside the database, each stored once under the hash of its bytes.

    A content stays as long as a conversation keeps it, see :func:`wakeful.store.contents.keep`.
    """

    async def put(self, content: bytes) -> str:
        """Store ``content`` and return its reference.

        Raises:
            StoreError: the folder cannot be written.
        """
        ...

    async def get(self, ref: str) -> bytes:
        """Return the content of ``ref``.

        Raises:
            NotFoundError: there is none.
            StoreError: its bytes are not those that were stored.
        """
        ...

    def writer(self) -> ContentWriter:
        """Return a writer for a content that is produced piece by piece."""
        ...

    def path(self, ref: str) -> Path:
        """Return where the content of ``ref`` is, or would be, for reading only."""
        ...

    def derived(self, ref: str, suffix: str) -> Path:
        """Return where something made from ``ref`` belongs, e.g. its ``parquet``; removed with it."""
        ...
