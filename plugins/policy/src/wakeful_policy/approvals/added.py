"""Rules that people add with their decisions: what may be added, and what has been."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Executable, Select, func, inspect, select, update

from wakeful.config import structure
from wakeful.types import ConfigError, Json, Problem
from wakeful_policy.approvals.tables import Stored, rule
from wakeful_policy.rules import meets
from wakeful_policy.settings import Rule

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

#: What such a rule cannot say, because it is about the action that was decided.
_ABOUT: Final = ("action", "category", "effect")
_VERDICTS: Final = {"approve": "allow", "reject": "deny"}


def checked(given: Json, what: str, stored: Stored, args: Mapping[str, Json]) -> dict[str, Json]:
    """Return a rule that somebody wants to add, as it would stand in the file.

    Args:
        given: the rule without its action; without a verdict it allows what is approved, denies the rest.
        what: ``approve`` or ``reject``.
        stored: the request that is decided.
        args: the arguments that were decided.

    Raises:
        ConfigError: it is no rule, or does not match the call that is decided.
    """
    if not isinstance(given, Mapping):
        raise ConfigError([Problem("rule", 'expected an object such as {"args": {"to": {"equals": "ana"}}}')])
    for name in _ABOUT:
        if name in given:
            said = f"a rule that is added with a decision is about {stored.action}; leave it out"
            raise ConfigError([Problem(f"rule.{name}", said)])
    raw = {"verdict": _VERDICTS[what], **given, "action": stored.action}
    made = structure(Rule, raw, "rule")
    for name, condition in made.args.items():
        if not meets(args.get(name), condition, every=made.verdict == "allow"):
            raise ConfigError([Problem(f"rule.args.{name}", "does not match the call that is decided")])
    return raw


def of_agent(agent: str) -> Select[Any]:
    """Return the query for the rules of an agent that were added and not removed, oldest first."""
    c = rule.c
    return select(rule).where(c.agent == agent, c.removed_at.is_(None)).order_by(c.number)


def state_of(agent: str) -> Executable:
    """Return the query for what changes whenever those rules do: how many there are, and the newest."""
    c = rule.c
    return select(func.count(), func.max(c.number)).where(c.agent == agent, c.removed_at.is_(None))


def loaded(rows: Sequence[Any]) -> tuple[dict[str, Json], ...]:
    """Return rows of the table as judges get them."""
    return tuple(
        {"number": row.number, "rule": json.loads(row.rule), "by": row.added_by, "request": row.request_id}
        for row in rows
    )


def take_back(conn: Connection, number: int, by: str, now: datetime) -> None:
    """Take a rule back; it stays in the table, and counts no more."""
    mine = update(rule).where(rule.c.number == number, rule.c.removed_at.is_(None))
    conn.execute(mine.values(removed_by=by, removed_at=now))


def stored_rules(conn: Connection, agent: str) -> tuple[dict[str, Json], ...]:
    """Return the rules of an agent that were added; none where the plugin has never been on."""
    if not inspect(conn).has_table(rule.name):
        return ()
    return loaded(conn.execute(of_agent(agent)).all())
