"""What ``wakeful notes`` does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import datetime
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve
from sqlalchemy import inspect

from wakeful.app.sources import read_file
from wakeful.cli.exits import Exit
from wakeful.cli.output import note, say, say_json, say_table
from wakeful.cli.records import read
from wakeful.config import load_config
from wakeful.store.engine import Store
from wakeful.system import SystemClock
from wakeful.types import ConfigError, Json, NotFoundError, Problem, Trust, nearest
from wakeful.types.words import in_line
from wakeful_notes import shelf
from wakeful_notes.tables import Note, Status, load
from wakeful_notes.tables import note as table
from wakeful_notes.texts import near

if TYPE_CHECKING:
    from sqlalchemy import Connection

Decide = Callable[["Connection", Note, datetime], Note]


def list_notes(file: Path, agent: str, user: str, *, everything: bool, as_json: bool) -> int:
    """Print notes, those of one agent and user together, oldest first.

    Raises:
        NotFoundError: neither does the file name this agent, nor is there a note of it; names the nearest.
    """
    now = SystemClock().now()
    found = read(file, lambda conn: _all(conn, agent, user, closed=everything)) or []
    if agent and not found:
        _check_agent(file, agent)
    found = [each for each in found if everything or each.stands(now) != "lapsed"]
    if as_json:
        say_json({"notes": [_document(each, now) for each in found]})
    elif found:
        lines = [
            (each.id, each.agent, each.user, each.stands(now), each.kind, each.text, each.source)
            for each in found
        ]
        shown = [tuple(map(in_line, line)) for line in lines]  # people decide by what they see
        say_table(("note", "agent", "user", "status", "kind", "text", "came from"), shown)
    else:
        note("there are no notes")
    return Exit.OK


def _check_agent(file: Path, agent: str) -> None:
    known = {*read_file(file).agents, *(each.agent for each in read(file, _all) or [])}
    if agent not in known:
        raise NotFoundError(f"there is no agent {agent!r}{nearest(agent, known)}")


def show_note(file: Path, id_: str, *, as_json: bool) -> int:
    """Print a note with where it came from.

    Raises:
        NotFoundError: there is no such note.
    """
    found = read(file, lambda conn: _find(conn, id_))
    if found is None:
        raise _unknown(id_, [])
    return _print(found, as_json=as_json)


def confirm_note(file: Path, id_: str, by: str, *, own: bool, as_json: bool) -> int:
    """Confirm a note; it takes the place of those that say nearly the same.

    Args:
        file: the configuration.
        id_: of the note.
        by: who confirms it; empty = who is logged in.
        own: whether its words are the user's own from now on.
        as_json: print a document.

    Raises:
        ConfigError: it is superseded or dropped.
        NotFoundError: there is no such note.
    """
    person = by or getuser()

    def decide(conn: Connection, found: Note, now: datetime) -> Note:
        trust = Trust.TRUSTED if own else found.trust
        done = evolve(found, status=Status.CONFIRMED, trust=trust, decided_at=now, decided_by=person)
        _store(conn, done)
        peers = [load(row) for row in conn.execute(shelf.of_scope(found.user, found.agent))]
        older = [
            each.id
            for each in peers
            if each.id != found.id and each.live(now) and near(each.text, found.text)
        ]
        if older:
            conn.execute(shelf.supersede(older, found.id))
        return done

    return _print(_decided(file, id_, decide), as_json=as_json)


def drop_note(file: Path, id_: str, by: str, *, as_json: bool) -> int:
    """Drop a note, as :func:`confirm_note` confirms one.

    Raises:
        ConfigError: it is superseded or dropped.
        NotFoundError: there is no such note.
    """
    person = by or getuser()

    def decide(conn: Connection, found: Note, now: datetime) -> Note:
        done = evolve(found, status=Status.DROPPED, decided_at=now, decided_by=person)
        _store(conn, done)
        return done

    return _print(_decided(file, id_, decide), as_json=as_json)


def _store(conn: Connection, done: Note) -> None:
    values = {"status": done.status.value, "trust": int(done.trust)}
    decided = {"decided_at": done.decided_at, "decided_by": done.decided_by}
    conn.execute(shelf.change(done.id, **values, **decided))


def _decided(file: Path, id_: str, decide: Decide) -> Note:
    if read(file, lambda conn: _find(conn, id_)) is None:
        raise _unknown(id_, [])
    url = load_config(file).store.url

    def write(conn: Connection) -> Note:
        found = _find(conn, id_)
        conn.execute(shelf.wait_for_turn(found.user, found.agent))
        found = _find(conn, id_)  # as it is once nobody else writes
        if found.status.value not in shelf.OPEN:
            what = f"the note is {found.status.value}; nothing was changed"
            raise ConfigError([Problem(id_, what)])
        return decide(conn, found, SystemClock().now())

    async def work() -> Note:
        store = await Store.open(url, create=False, clock=SystemClock())
        try:
            return await store.write(write, durable=True)
        finally:
            await store.close()

    return asyncio.run(work())


def _all(conn: Connection, agent: str = "", user: str = "", *, closed: bool = True) -> list[Note]:
    if not inspect(conn).has_table(table.name):
        return []
    return [load(row) for row in conn.execute(shelf.everything(agent, user, closed=closed))]


def _find(conn: Connection, id_: str) -> Note:
    known = inspect(conn).has_table(table.name)
    row = conn.execute(shelf.by_id(id_)).first() if known else None
    if row is None:
        raise _unknown(id_, [each.id for each in _all(conn)])
    return load(row)


def _unknown(id_: str, known: list[str]) -> NotFoundError:
    hint = nearest(id_, known) if known else "; there are none yet"
    return NotFoundError(f"there is no note {id_!r}{hint}")


def _print(found: Note, *, as_json: bool) -> int:
    now = SystemClock().now()
    if as_json:
        say_json(_document(found, now))
        return Exit.OK
    for line in _lines(found, now):
        say(in_line(line))
    return Exit.OK


def _lines(found: Note, now: datetime) -> Iterator[str]:
    """Yield what people are shown of a note; each is one line, whatever stands in it."""
    until = f" until {found.lapses_at:%Y-%m-%d}" if found.stands(now) == Status.PROVISIONAL.value else ""
    by = f" by {found.decided_by}" if found.decided_by else ""
    yield f"{found.kind}: {found.text}"
    yield f"{found.id}: {found.stands(now)}{until}{by}, {found.trust.label}"
    yield f"agent {found.agent}, user {found.user}, written {found.created_at:%Y-%m-%d %H:%M} UTC"
    yield f"by run {found.run} in conversation {found.conversation}"
    if found.source:
        where = f"row {found.row}" if found.row else "what was retrieved for the turn"
        yield f"outside text had been read: {found.source} ({where})"
    if found.superseded_by:
        yield f"superseded by {found.superseded_by}"


def _document(found: Note, now: datetime) -> dict[str, Json]:
    decided = found.decided_at.isoformat() if found.decided_at else None
    return {
        "id": found.id,
        "agent": found.agent,
        "user": found.user,
        "kind": found.kind,
        "text": found.text,
        "status": found.stands(now),
        "trust": found.trust.label,
        "provenance": {
            "source": found.source,
            "row": found.row,
            "conversation": found.conversation,
            "run": found.run,
            "call": found.key,
        },
        "created_at": found.created_at.isoformat(),
        "lapses_at": found.lapses_at.isoformat() if found.status is Status.PROVISIONAL else None,
        "decided_at": decided,
        "decided_by": found.decided_by,
        "superseded_by": found.superseded_by,
    }
