"""What ``wakeful policy list`` and ``explain`` do."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from attrs import asdict, frozen

from wakeful.cli.exits import Exit
from wakeful.cli.output import note, say, say_json, say_table
from wakeful.types import ConfigError, Json, Problem
from wakeful_policy.asking import Explained, agents, ask, rules_of
from wakeful_policy.rules import Known, Rules


@frozen
class Asked:
    """A question: what would become of this call?"""

    agent: str
    action: str
    args: str
    words: str
    tainted: bool


def list_rules(file: Path, agent: str, *, as_json: bool) -> int:
    """Print the rules of an agent."""

    async def work() -> Rules | None:
        async with agents(file) as app:
            return rules_of(app, agent)

    rules = asyncio.run(work())
    known = rules.all if rules is not None else ()
    if as_json:
        say_json({"agent": agent, "on": rules is not None, "rules": [_document(each) for each in known]})
    elif rules is None:
        note(f"the plugin policy is off for agent {agent}")
    elif not known:
        note(f"agent {agent} has no rules; reads, fetches and writes are allowed, the rest needs a person")
    else:
        lines = [(f"{each.number}", each.rule.about, each.rule.verdict, _when(each)) for each in known]
        say_table(("rule", "about", "verdict", "when"), lines)
    return Exit.OK


def explain_call(file: Path, asked: Asked, *, as_json: bool) -> int:
    """Print what would become of a call, and why.

    Raises:
        ConfigError: the arguments are no JSON object, or do not fit.
        NotFoundError: no such agent or action.
    """
    try:
        args = json.loads(asked.args)
    except ValueError as error:
        raise ConfigError([Problem("--args", f"no JSON: {error}")]) from None
    if not isinstance(args, dict):
        raise ConfigError([Problem("--args", 'expected a JSON object such as \'{"to": "ana"}\'')])

    async def work() -> Explained:
        async with agents(file) as app:
            return await ask(app, asked.agent, asked.action, args, words=asked.words, tainted=asked.tainted)

    found = asyncio.run(work())
    if as_json:
        say_json(_explained(found))
        return Exit.OK
    say(f"{found.action.tool_name} ({found.action.effect.value}): {found.verdict.verdict.name.lower()}")
    say(f"rule: {_rule(found)}")
    for answer in found.answers:
        yields = ", counts only where no other plugin has an opinion" if answer.fallback else ""
        reason = f": {answer.reason}" if answer.reason else ""
        say(f"{answer.plugin} says {answer.verdict.name.lower()}{reason}{yields}")
    return Exit.OK


def _rule(found: Explained) -> str:
    if found.rule is not None:
        return f"number {found.rule.number}, {found.rule.rule.about}"
    return "none matches, the default counts" if found.on else "the plugin policy is off for this agent"


def _when(known: Known) -> str:
    rule = known.rule
    return f"{', '.join(rule.when)} ({rule.time_zone})" if rule.when else ""


def _document(known: Known) -> dict[str, Json]:
    rule = asdict(known.rule)
    return {"number": known.number, "about": known.rule.about, **rule}


def _explained(found: Explained) -> dict[str, Json]:
    return {
        "action": found.action.tool_name,
        "effect": found.action.effect.value,
        "verdict": found.verdict.verdict.name.lower(),
        "rule": _document(found.rule) if found.rule is not None else None,
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
