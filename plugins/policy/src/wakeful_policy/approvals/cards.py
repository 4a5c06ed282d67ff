"""Requests as people are shown them: the arguments themselves, and where each came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import asdict
from sqlalchemy import inspect, select

from wakeful.cli.exits import Exit
from wakeful.cli.output import note, say, say_json
from wakeful.cli.records import read
from wakeful.config import load_config
from wakeful.store.tables import run
from wakeful.types import Json, NotFoundError, RunStatus, nearest
from wakeful.types.words import in_line
from wakeful_policy.approvals.deciding import people
from wakeful_policy.approvals.lines import lines
from wakeful_policy.approvals.tables import Stored, attempt, load, request, requests

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: Newest requests that ``--all`` lists, and that a mistyped id is compared with.
NEWEST: Final = 200
_HEADS: Final = {"draft": "drafts, to be confirmed or dropped", "outcome": "did these calls take effect?"}


def list_requests(file: Path, *, everything: bool, as_json: bool) -> int:
    """Print what waits, or the newest requests."""
    found = read(file, lambda conn: _list(conn, everything=everything)) or []
    if as_json:
        say_json({"requests": [document(each) for each in found]})
        return Exit.OK
    if not found:
        note("nothing waits for a person" if not everything else "nobody has been asked anything")
        return Exit.OK
    for head, card in _cards(found):
        say(in_line(head))
        for stored in card:
            for line in lines(stored):
                say(f"  {line}")
    return Exit.OK


def show_request(file: Path, request_id: str, *, as_json: bool) -> int:
    """Print one request with the attempts that were refused.

    Raises:
        NotFoundError: there is none; names the nearest.
    """
    found, refused = stored_request(file, request_id)
    if as_json:
        say_json({**document(found), "refused": refused})
        return Exit.OK
    for line in lines(found):
        say(line)
    say(in_line(f"conversation {found.conversation}, run {found.run}, call {found.key}"))
    say(f"sha256 of the arguments: {found.digest}")
    say(f"rules that matched: {found.basis or 'none'}")
    say(in_line(f"may decide: {', '.join(people(found, _approvers(file, found.agent))) or 'nobody'}"))
    say(f"asked {found.created_at:%Y-%m-%d %H:%M} UTC; {_until(found)}")
    for each in refused:
        say(f"refused: {each['by']!r} wanted to {each['wanted']}: {each['reason']}")
    return Exit.OK


def stored_request(file: Path, request_id: str) -> tuple[Stored, list[dict[str, Json]]]:
    """Return a request and the attempts that were refused.

    Raises:
        NotFoundError: there is none; names the nearest.
    """
    found = read(file, lambda conn: _one(conn, request_id))
    if found is None or isinstance(found, list):
        raise NotFoundError(f"there is no request {request_id!r}{nearest(request_id, found or [])}")
    return found


def _approvers(file: Path, agent: str) -> Sequence[str]:
    config = load_config(file).agents.get(agent)
    return config.approvers if config is not None else ()


def document(stored: Stored) -> dict[str, Json]:
    """Return a request as JSON."""
    return {**asdict(stored), "card": stored.card}


def _cards(found: Sequence[Stored]) -> Iterator[tuple[str, list[Stored]]]:
    """Group requests: those of one step together, drafts and unknown outcomes apart, as digests."""
    cards: dict[str, list[Stored]] = {}
    for stored in found:
        if stored.kind not in _HEADS:
            asked = f" for {stored.asker}" if stored.asker else ""
            cards.setdefault(f"{stored.card}, agent {stored.agent}{asked}", []).append(stored)
    yield from cards.items()
    for kind, head in _HEADS.items():
        of_kind = [stored for stored in found if stored.kind == kind]
        if of_kind:
            yield head, of_kind


def _until(stored: Stored) -> str:
    return f"void after {stored.expires_at:%Y-%m-%d %H:%M} UTC" if stored.expires_at else "does not expire"


def _there(conn: Connection) -> bool:
    """Whether the plugin has ever been on: its tables are there."""
    return bool(inspect(conn).has_table(request.name))


def _list(conn: Connection, *, everything: bool) -> list[Stored]:
    if not _there(conn):
        return []
    if everything:
        query = requests().order_by(None).order_by(request.c.number.desc()).limit(NEWEST)
        return [load(dict(row)) for row in reversed(conn.execute(query).mappings().all())]
    over = [each.value for each in RunStatus if each.ended]
    ended = select(run.c.id).where(run.c.status.in_(over))
    cancelled = select(run.c.id).where(run.c.status == RunStatus.CANCELLED.value)
    draft = (request.c.kind == "draft") & request.c.run_id.not_in(cancelled)
    waits = request.c.run_id.not_in(ended) | (request.c.kind == "outcome") | draft
    query = requests().where(request.c.status == "pending", waits)
    return [load(dict(row)) for row in conn.execute(query).mappings()]


def _one(conn: Connection, request_id: str) -> tuple[Stored, list[dict[str, Json]]] | list[str]:
    if not _there(conn):
        return []
    row: Any = conn.execute(requests().where(request.c.id == request_id)).mappings().first()
    if row is None:
        newest = select(request.c.id).order_by(request.c.number.desc()).limit(NEWEST)
        return list(conn.execute(newest).scalars())
    tried = select(attempt).where(attempt.c.request_id == request_id).order_by(attempt.c.number)
    refused = [
        {"by": each["tried_by"], "wanted": each["wanted"], "reason": each["reason"], "at": each["at"]}
        for each in conn.execute(tried).mappings()
    ]
    return load(row), refused
