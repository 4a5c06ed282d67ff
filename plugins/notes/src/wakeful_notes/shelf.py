"""Statements over the table of notes."""

from __future__ import annotations

import hashlib
from typing import Any

from sqlalchemy import (
    BigInteger,
    Executable,
    Select,
    Text,
    Update,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from wakeful_notes.tables import Note, Status, note

#: Notes that something may still become of.
OPEN = (Status.PENDING.value, Status.PROVISIONAL.value, Status.CONFIRMED.value)


class _Turn(FunctionElement[Any]):
    """Waits until no other transaction writes notes of the same scope; SQLite has one writer anyway."""

    type = Text()
    inherit_cache = True


@compiles(_Turn)
def _nothing(element: _Turn, compiler: Any, **options: Any) -> str:
    return f"abs({compiler.process(element.clauses, **options)})"


@compiles(_Turn, "postgresql")
def _lock(element: _Turn, compiler: Any, **options: Any) -> str:
    return f"pg_advisory_xact_lock({compiler.process(element.clauses, **options)})"


def wait_for_turn(user: str, agent: str) -> Executable:
    """Return the statement that comes first in a transaction that writes notes of a user and an agent."""
    spelled = hashlib.sha256(f"wakeful_notes\0{user}\0{agent}".encode()).digest()
    number = int.from_bytes(spelled[:7], "big")
    return select(_Turn(literal(number, BigInteger)))


def of_scope(user: str, agent: str, *statuses: Status) -> Select[Any]:
    """Return the query for the open notes of a user and an agent, oldest first."""
    wanted = [each.value for each in statuses] or OPEN
    mine = (note.c.user == user, note.c.agent == agent, note.c.status.in_(wanted))
    return select(note).where(*mine).order_by(note.c.number)


def everything(agent: str = "", user: str = "", *, closed: bool = False) -> Select[Any]:
    """Return the query for notes, perhaps of one agent or user, perhaps with those that are closed."""
    query = select(note).order_by(note.c.agent, note.c.user, note.c.number)
    query = query if closed else query.where(note.c.status.in_(OPEN))
    query = query.where(note.c.agent == agent) if agent else query
    return query.where(note.c.user == user) if user else query


def by_id(id_: str) -> Select[Any]:
    """Return the query for one note."""
    return select(note).where(note.c.id == id_)


def written_by(run: str) -> Select[Any]:
    """Return the query for how many notes a run has written."""
    return select(func.count()).select_from(note).where(note.c.run == run)


def last_number(user: str, agent: str) -> Select[Any]:
    """Return the query for the number of the newest note of a user and an agent; 0 while there is none."""
    return select(func.coalesce(func.max(note.c.number), 0)).where(note.c.user == user, note.c.agent == agent)


def add(new: Note) -> Executable:
    """Return the statement that stores a note."""
    return insert(note).values(**new.values())


def supersede(ids: list[str], by: str) -> Update:
    """Return the statement that puts a note in the place of others."""
    values = {"status": Status.SUPERSEDED.value, "superseded_by": by}
    return update(note).where(note.c.id.in_(ids)).values(**values)


def change(id_: str, **values: Any) -> Update:
    """Return the statement that changes a note which is still open."""
    return (
        update(note).where(note.c.id == id_, or_(*(note.c.status == each for each in OPEN))).values(**values)
    )
