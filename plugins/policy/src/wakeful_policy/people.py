"""What ``wakeful policy list``, ``explain`` and ``remove`` do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from getpass import getuser
from pathlib import Path
from typing import cast

from attrs import asdict, frozen

from wakeful.cli.exits import Exit
from wakeful.cli.output import note, say, say_json, say_table
from wakeful.cli.records import read
from wakeful.cli.run import opened
from wakeful.system import SystemClock
from wakeful.tools.arguments import check_arguments
from wakeful.tools.decode import Refused, parse, plain
from wakeful.types import ConfigError, Json, NotAvailableError, NotFoundError, Problem, nearest
from wakeful_policy.approvals.added import stored_rules, take_back
from wakeful_policy.asking import Explained, agents, ask, moment, rules_of
from wakeful_policy.rules import Known, Rules
from wakeful_policy.windows import check_reach

_PARTLY = (
    "; one item of a list that meets it suffices, or a default, or a text that nearly does, as it makes the "
    "call stricter"
)


@frozen
class Asked:
    """A question: what would become of this call?"""

    agent: str
    action: str
    args: str
    words: str
    tainted: bool
    at: str = ""


def list_rules(file: Path, agent: str, *, as_json: bool) -> int:
    """Print the rules of an agent."""
    added = added_rules(file, agent)

    async def work() -> Rules | None:
        async with agents(file) as app:
            return rules_of(app, agent, added)

    rules = asyncio.run(work())
    known = rules.all if rules is not None else ()
    if as_json:
        say_json({"agent": agent, "on": rules is not None, "rules": [_document(each) for each in known]})
    elif rules is None:
        note(f"the plugin policy is off for agent {agent}")
    elif not known:
        note(f"agent {agent} has no rules; reads, fetches and writes are allowed, the rest needs a person")
    else:
        lines = [(each.name, each.rule.about, each.rule.verdict, _when(each), _by(each)) for each in known]
        say_table(("rule", "about", "verdict", "when", "from"), lines)
    return Exit.OK


def added_rules(file: Path, agent: str) -> Sequence[Json]:
    """Return what people have added to the rules of an agent, from the database of a file."""
    return read(file, lambda conn: stored_rules(conn, agent)) or ()


def remove_rule(file: Path, agent: str, name: str, person: str, *, as_json: bool) -> int:
    """Take back a rule that somebody has added.

    Raises:
        NotFoundError: no such agent or rule; names the nearest.
        NotAvailableError: this person is no approver.
    """
    known = {f"added-{each['number']}": each["number"] for each in added_rules(file, agent)}
    by = person or getuser()

    async def work() -> None:
        async with opened(file) as app:
            rules_of(app, agent)  # says what is wrong with the agent
            if name not in known:
                said = "; rules of the file are taken out there" if name.isdigit() else ""
                raise NotFoundError(f"nobody has added a rule {name!r}{nearest(name, known)}{said}")
            if by not in app.agents[agent].view.approvers:
                raise NotAvailableError(f"{by!r} is no approver of agent {agent!r}; only they may")
            await app.store.write(lambda conn: take_back(conn, known[name], by, SystemClock().now()))

    asyncio.run(work())
    if as_json:
        say_json({"agent": agent, "removed": name})
    else:
        say(f"{name}: removed")
    return Exit.OK


def explain_call(file: Path, asked: Asked, *, as_json: bool) -> int:
    """Print what would become of a call, and why.

    Raises:
        ConfigError: the arguments are no JSON object, or do not fit; or the time is none.
        NotFoundError: no such agent or action.
    """
    try:
        args = plain(parse(asked.args))
    except Refused as error:
        raise ConfigError([Problem("--args", f"the arguments {error}")]) from None
    if not isinstance(args, dict):
        raise ConfigError([Problem("--args", 'expected a JSON object such as \'{"to": "ana"}\'')])

    try:
        now = moment(asked.at)
        check_reach(now)
    except ValueError as error:
        raise ConfigError([Problem("--at", str(error))]) from None
    added = added_rules(file, asked.agent)

    async def work() -> Explained:
        async with agents(file) as app:
            words, tainted = asked.words, asked.tainted
            return await ask(
                app, asked.agent, asked.action, args, words=words, tainted=tainted, added=added, now=now
            )

    found = asyncio.run(work())
    known = found.rule
    whole = known is None or known.fits(
        found.action, cast("dict[str, Json]", check_arguments(found.action, args))
    )
    if as_json:
        say_json(_explained(found, whole=whole))
        return Exit.OK
    say(f"{found.action.tool_name} ({found.action.effect.value}): {found.verdict.verdict.name.lower()}")
    say(f"rule: {_rule(found)}{'' if whole else _PARTLY}")
    for answer in found.answers:
        yields = ", counts only where no other plugin has an opinion" if answer.fallback else ""
        reason = f": {answer.reason}" if answer.reason else ""
        say(f"{answer.plugin} says {answer.verdict.name.lower()}{reason}{yields}")
    return Exit.OK


def _rule(found: Explained) -> str:
    if found.rule is not None:
        return f"number {found.rule.name}, {found.rule.rule.about}{_added(found.rule)}"
    return "none matches, the default counts" if found.on else "the plugin policy is off for this agent"


def _added(known: Known) -> str:
    return f", added by {known.added_by}" if known.added_by else ""


def _by(known: Known) -> str:
    return known.added_by or "the file"


def _when(known: Known) -> str:
    rule = known.rule
    return f"{', '.join(rule.when)} ({rule.time_zone})" if rule.when else ""


def _document(known: Known) -> dict[str, Json]:
    rule = asdict(known.rule)
    about = {"name": known.name, "number": known.number, "added_by": known.added_by}
    return {**about, "about": known.rule.about, **rule}


def _explained(found: Explained, *, whole: bool) -> dict[str, Json]:
    return {
        "action": found.action.tool_name,
        "effect": found.action.effect.value,
        "verdict": found.verdict.verdict.name.lower(),
        "rule": _document(found.rule) if found.rule is not None else None,
        "whole": whole,
        "answers": [
            {
                "plugin": answer.plugin,
                "verdict": answer.verdict.name.lower(),
                "reason": answer.reason,
                "fallback": answer.fallback,
            }
            for answer in found.answers
        ],
    }
