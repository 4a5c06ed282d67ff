"""Paths and database addresses, resolved from the folder of the configuration file."""

from __future__ import annotations

import re
from pathlib import Path, PurePath

#: ``sqlite``, perhaps with a driver, then the database, then a query.
_SQLITE = re.compile(r"(?P<scheme>sqlite(?:\+\w+)?):///(?P<path>[^?]*)(?P<query>\?.*)?", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def resolve_path(path: str | PurePath, folder: Path) -> Path:
    """Return ``path`` as it is if it is absolute, else below ``folder``.

    Args:
        path: as written in the file; ``~`` is not expanded.
        folder: where the file lies.
    """
    return folder.absolute() / path


def resolve_url(url: str, folder: Path) -> str:
    """Return a database address whose relative SQLite file is made absolute.

    In-memory databases, ``file:`` URIs, absolute paths and other databases stay as they are, and so does
    the query.

    Args:
        url: e.g. ``sqlite:///wakeful.db`` or ``postgresql://…``.
        folder: where the configuration file lies.
    """
    match = _SQLITE.fullmatch(url)
    if match is None:
        return url
    path = match["path"]
    if path in {"", ":memory:"} or path.startswith(("/", "file:")) or _DRIVE.match(path):
        return url
    return f"{match['scheme']}:///{resolve_path(path, folder).as_posix()}{match['query'] or ''}"
