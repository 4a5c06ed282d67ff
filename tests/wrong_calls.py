"""An agent with a database, and the wrong calls that its failed results must teach it to correct."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from attrs import define, field, frozen

from wakeful import ActionContext, ActionError, action
from wakeful.types import Action, Param, near

SHOP = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE, ssn TEXT,
    since DATE, credit DECIMAL(10, 2), note VARCHAR(10), active BOOLEAN DEFAULT 1);
CREATE TABLE customer_order (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer(id),
    total DECIMAL(10, 2) NOT NULL);
CREATE TABLE payroll (id INTEGER PRIMARY KEY, salary TEXT);
CREATE TABLE audit_trail (id INTEGER PRIMARY KEY, entry TEXT);
INSERT INTO customer (id, name, email, ssn) VALUES (1, 'Ana', 'ana@example.com', 'TOPSECRET-1'),
    (2, 'Bo', 'bo@example.com', 'TOPSECRET-2');
INSERT INTO customer_order VALUES (10, 1, 19.9);
INSERT INTO payroll VALUES (1, 'TOPSECRET-9');
"""
#: What must show in no result: hidden names and what is in them.
HIDDEN = ("payroll", "salary", "audit", "ssn", "TOPSECRET")
Email = Annotated[str, Param(format="email")]
Hours = Annotated[int, Param(schema={"minimum": 1, "maximum": 8})]
Priority = Literal["low", "normal", "high"]
ROOMS = ("Aurora", "Baltic", "Cedar")


def make_shop(folder: Path) -> None:
    """Make the database."""
    with closing(sqlite3.connect(folder / "shop.db")) as connection:
        connection.executescript(SHOP)


@frozen
class Person:
    """Who something is for."""

    name: str
    email: Email = "nobody@example.com"


@frozen
class Ticket:
    """A ticket."""

    title: str
    severity: Literal["low", "medium", "high"]
    owner: Person
    tags: list[str] = field(factory=list)


def _declared() -> list[Action]:
    reads = action(effect="read", output_trust="trusted")
    writes = action(effect="write", output_trust="trusted")

    async def send_message(
        to: Annotated[str, Param(format="email")],
        subject: str,
        priority: Literal["low", "normal", "high"] = "normal",
    ) -> str:
        """Send a message."""
        return f"{to} {subject} {priority}"

    async def plan_meeting(
        title: str, start: datetime, minutes: int = 30, people: list[str] | None = None
    ) -> str:
        """Plan a meeting."""
        return f"{title} {start} {minutes} {people}"

    async def open_ticket(ticket: Ticket) -> str:
        """Open a ticket."""
        return f"{ticket}"

    async def set_limit(amount: Decimal, currency: Literal["EUR", "USD"], until: date | None = None) -> str:
        """Set a limit."""
        return f"{amount} {currency} {until}"

    async def book_room(
        room: str, hours: Annotated[int, Param(schema={"minimum": 1, "maximum": 8})] = 1
    ) -> str:
        """Book a room."""
        if room not in ROOMS:
            raise ActionError("NO_SUCH_ROOM", f"there is no room {room!r}", suggested=near(room, ROOMS))
        return f"{room} {hours}"

    async def read_message(context: ActionContext, sequence: int) -> str:
        """Read a message of this conversation again."""
        known = [row.seq for row in context.run.rows]
        if sequence not in known:
            closest = sorted(known, key=lambda seq: (abs(seq - sequence), seq))[:5]
            raise ActionError("NO_SUCH_MESSAGE", f"there is no message {sequence}", suggested=closest)
        return next(row.text for row in context.run.rows if row.seq == sequence)

    async def list_numbers(count: int) -> list[dict[str, Any]]:
        """List numbers with their squares."""
        return [{"number": number, "square": number * number, "word": "x" * 20} for number in range(count)]

    wrote = [writes(each) for each in (send_message, plan_meeting, open_ticket, set_limit, book_room)]
    return [*wrote, reads(read_message), reads(list_numbers)]


ACTIONS = _declared()


@define(frozen=True)
class Wrong:
    """A wrong call; ``before`` are right ones that come first."""

    kind: str
    tool: str
    args: dict[str, Any]
    before: tuple[tuple[str, dict[str, Any]], ...] = ()


MESSAGE = {"to": "ana@example.com", "subject": "Hi"}
MEETING = {"title": "Plan", "start": "2026-01-31T09:30:00Z"}
TICKET = {"title": "Broken", "severity": "low", "owner": {"name": "Ana"}}
LIMIT = {"amount": "12.50", "currency": "EUR"}
NUMBERS = (("list_numbers", {"count": 500}),)


def _of(kind: str, tool: str, *variants: dict[str, Any]) -> list[Wrong]:
    return [Wrong(kind, tool, args) for args in variants]


CALLS = [
    *(Wrong("tool", name, MESSAGE) for name in ("send_mesage", "message_send", "sendMail_message", "send")),
    *(Wrong("tool case", name, MESSAGE) for name in ("SendMessage", "SEND_MESSAGE", "send-message")),
    Wrong("tool prefix", "functions.send_message", MESSAGE),
    Wrong("tool prefix", "mcp__office__send_message", MESSAGE),
    Wrong("tool", "get_records", {"entity": "customer", "id": 1}),
    Wrong("tool", "query", {"sql": "SELECT 1 AS one"}),
    *_of("argument", "send_message",
         {"too": "a@example.com", "subject": "Hi"}, {"to": "a@example.com", "subjekt": "Hi"}),
    *_of("argument", "plan_meeting", MEETING | {"minuets": 5}, {"Title": "Plan", "start": MEETING["start"]}),
    Wrong("argument", "get_record", {"entitty": "customer", "id": 1}),
    *_of("extra", "send_message", MESSAGE | {"colour": "red"}, MESSAGE | {"zzz": 1, "qqq": 2}),
    Wrong("extra", "list_numbers", {"count": 3, "verbose": True}),
    *_of("missing", "send_message", {"subject": "Hi"}, {"to": "a@example.com"}, {}),
    *_of("missing", "set_limit", {"amount": "5"}, {"currency": "USD"}),
    Wrong("missing", "plan_meeting", {"title": "Plan"}),
    *_of("null", "send_message", MESSAGE | {"subject": None}, MESSAGE | {"priority": None}),
    *_of("null", "plan_meeting", MEETING | {"minutes": None}, MEETING | {"start": None}),
    *_of("type", "plan_meeting",
         MEETING | {"minutes": "half an hour"}, MEETING | {"people": "Ana"}, MEETING | {"title": 5}),
    *_of("type", "list_numbers", {"count": "many"}, {"count": 2.5}, {"count": [3]}),
    *_of("format", "send_message", MESSAGE | {"to": "ana"}),
    *_of("format", "plan_meeting", MEETING | {"start": "tomorrow"}),
    *_of("format", "set_limit", LIMIT | {"amount": "much"}, LIMIT | {"until": "31.1.2026"}),
    *_of("enum", "send_message", *(MESSAGE | {"priority": given} for given in ("hihg", "HIGH", "asap"))),
    *_of("enum", "set_limit", LIMIT | {"currency": "eur"}),
    *_of("limit", "book_room", {"room": "Cedar", "hours": 0}, {"room": "Cedar", "hours": 99}),
    *_of("nested", "open_ticket",
         {"ticket": TICKET | {"severity": "hi"}}, {"ticket": TICKET | {"titel": "x"}},
         {"ticket": {"title": "x", "severity": "low"}}, {"ticket": TICKET | {"owner": "Ana"}},
         {"ticket": TICKET | {"owner": {"nmae": "Ana"}}}, {"ticket": TICKET | {"tags": [1]}},
         {"ticket": TICKET | {"owner": {"name": "Ana", "email": "x"}}}),
    *_of("value", "book_room", {"room": "aurora"}, {"room": "Balti"}, {"room": "Cedar Room"}),
    *_of("entity", "describe_entity", {"entity": "custommer"}, {"entity": "old_customer"}),
    *_of("entity", "describe_entity", {"entity": "order"}),
    *_of("entity", "search_records", {"entity": "customers"}),
    *_of("entity", "run_query", {"sql": "SELECT name FROM custmer"}),
    *_of("field", "search_records",
         {"entity": "customer", "filters": [{"field": "nmae", "op": "eq", "value": "Ana"}]},
         {"entity": "customer", "order_by": "naem"},
         {"entity": "customer", "filters": [{"field": "name", "op": "equals", "value": "Ana"}]}),
    *_of("field", "run_query", {"sql": "SELECT emial FROM customer"}),
    *_of("field", "update_record",
         {"entity": "customer", "id": 1, "values": {"emial": "new@example.com"}},
         {"entity": "customer", "id": 1, "values": {"credits": "5", "nmae": "Ada"}}),
    *_of("record value", "update_record",
         {"entity": "customer", "id": 1, "values": {"since": "yesterday"}},
         {"entity": "customer", "id": 1, "values": {"credit": "a lot"}},
         {"entity": "customer", "id": 1, "values": {"note": "much too long a note"}},
         {"entity": "customer", "id": 1, "values": {"active": "yes"}}),
    *_of("record value", "get_record", {"entity": "customer", "id": "Ana"}),
    *_of("required", "create_record",
         {"entity": "customer", "values": {"email": "x@example.com"}},
         {"entity": "customer_order", "values": {"id": 12, "customer_id": 1}}),
    *_of("sequence", "read_message", {"sequence": 99}, {"sequence": "x"}),
    *(Wrong("handle", "artifact_info", {"handle": handle}, NUMBERS) for handle in ("B", "artifact_1", "[Z]")),
    Wrong("column", "artifact_rows", {"handle": "A", "columns": ["nummber"]}, NUMBERS),
    *(Wrong("path", "artifact_json", {"handle": "A", "path": path}, NUMBERS)
      for path in ("$[0].sqare", "$[*].nummber", "$[?@.sqare > 100].number")),
    *_of("hidden", "describe_entity", {"entity": "payrol"}, {"entity": "audit_trial"}),
    *_of("hidden", "search_records", {"entity": "customer", "order_by": "snn"}),
]  # fmt: skip
