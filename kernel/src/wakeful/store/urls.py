"""Database URLs: what they may say, and how a message names the database they mean."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from wakeful.types.errors import StoreError, nearest

#: Seconds to wait for another process's lock or for a server; from the store's specification.
DEFAULT_TIMEOUT = 10.0
#: What may follow the ``?`` of a SQLite URL.
SQLITE_OPTIONS = ("mode", "timeout", "max_page_count")
#: ``mode`` of a SQLite URL, as SQLite spells it.
SQLITE_MODES = ("ro", "rw", "rwc")


@frozen
class Target:
    """The database a URL means.

    Args:
        url: the URL as SQLAlchemy knows it, without wakeful's own options.
        label: how messages name it; never holds a password.
        path: the file, for SQLite on disk.
        mode: ``ro``, ``rw`` or ``rwc`` (create), for SQLite.
        timeout: seconds to wait for a lock or a connection.
        max_pages: bound on the size of a SQLite database in pages, or None.
    """

    url: URL
    label: str
    path: Path | None = None
    mode: str = "rwc"
    timeout: float = DEFAULT_TIMEOUT
    max_pages: int | None = None

    @property
    def sqlite(self) -> bool:
        """Whether it is SQLite."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def memory(self) -> bool:
        """Whether it lives in memory only."""
        return self.sqlite and self.path is None


def parse(url: str) -> Target:
    """Return what ``url`` means.

    Args:
        url: ``sqlite://`` (in memory), ``sqlite:///file.db`` (relative to the working directory),
            ``sqlite:////abs/file.db`` or ``postgresql://user:password@host/name``. SQLite takes
            ``mode=ro``, ``timeout=<seconds>`` and ``max_page_count=<pages>``; PostgreSQL takes
            ``timeout`` and the options of libpq.

    Raises:
        StoreError: it is no such URL.
    """
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, ValueError) as error:
        raise StoreError(
            f"store url {_hidden(url)!r} cannot be read; expected sqlite:///file.db or postgresql://host/name"
        ) from error
    if backend == "sqlite":
        return _sqlite(parsed)
    if backend == "postgresql":
        return _postgresql(parsed)
    raise StoreError(
        f"store url scheme {backend!r} is not supported{nearest(backend, ['sqlite', 'postgresql'])}"
    )


def _sqlite(url: URL) -> Target:
    name = url.database or ""
    label = f"database {name}" if name else "in-memory database"
    options = dict(url.query)
    for option in options:
        if option not in SQLITE_OPTIONS:
            raise StoreError(
                f"{label}: unknown option {option!r} in the url{nearest(option, SQLITE_OPTIONS)}"
            )
    mode = str(options.get("mode", "rwc"))
    if mode not in SQLITE_MODES:
        raise StoreError(f"{label}: unknown mode {mode!r} in the url{nearest(mode, SQLITE_MODES)}")
    pages = options.get("max_page_count")
    memory = name in {"", ":memory:"}
    return Target(
        url=URL.create("sqlite+pysqlite", database=None if memory else name),
        label="in-memory database" if memory else label,
        path=None if memory else Path(name).absolute(),
        mode=mode,
        timeout=_seconds(label, options.get("timeout")),
        max_pages=None if pages is None else int(_positive(label, "max_page_count", str(pages), int)),
    )


def _postgresql(url: URL) -> Target:
    label = f"database {url.render_as_string(hide_password=True).partition('?')[0]}"
    if url.drivername not in {"postgresql", "postgresql+psycopg"}:
        raise StoreError(f"{label}: driver {url.drivername!r} is not supported; write postgresql://…")
    timeout = _seconds(label, url.query.get("timeout"))
    return Target(
        url=url.set(drivername="postgresql+psycopg").difference_update_query(["timeout"]),
        label=label,
        timeout=timeout,
    )


def _seconds(label: str, value: object) -> float:
    return DEFAULT_TIMEOUT if value is None else _positive(label, "timeout", str(value), float)


def _positive(label: str, option: str, value: str, kind: type[int | float]) -> float:
    try:
        number = kind(value)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        raise StoreError(f"{label}: {option}={value!r} in the url must be a number above 0")
    return number


def _hidden(url: str) -> str:
    # A URL that cannot be parsed may still hold a password before the last @.
    scheme, found, rest = url.partition("://")
    return f"{scheme}://***@{rest.rpartition('@')[2]}" if found and "@" in rest else url
