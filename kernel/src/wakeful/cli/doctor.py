"""``wakeful doctor``: what every agent really gets, and what is wrong."""

from __future__ import annotations

import asyncio
import os
import platform
import sqlite3
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from attrs import evolve, frozen

import wakeful
from wakeful.app import AgentReport
from wakeful.app.sources import read_file
from wakeful.cli.database import Status, brought, status
from wakeful.cli.db import states_document
from wakeful.cli.exits import Exit
from wakeful.cli.log import log_lines
from wakeful.cli.output import plain, say, say_json, say_red, say_table
from wakeful.cli.work import document, look, tell
from wakeful.config import AppConfig, StoreConfig
from wakeful.config.model import DISABLE_VARIABLE
from wakeful.store.health import Health
from wakeful.types import Json, Problem

#: Characters of the prefix's digest that are printed.
DIGEST = 12
_ADVICE = {
    "absent": "does not exist yet; the first run makes it",
    "current": "is current",
    "missing": "lacks tables; run `wakeful db upgrade`",
    "newer": "was written by a newer version; upgrade wakeful and its plugins",
    "older": "is older than the code; run `wakeful db upgrade`",
}


@frozen
class Seen:
    """One agent: its report, or why there is none."""

    name: str
    report: AgentReport | None
    problems: tuple[Problem, ...] = ()


def examine(file: Path, notes: Sequence[str], *, as_json: bool) -> int:
    """Print everything; the database is looked at and not changed.

    Args:
        file: the configuration.
        notes: what else should be known, e.g. commands that cannot be reached.
        as_json: print JSON.

    Returns:
        0, 2 if an agent cannot be built, or 3 if the database cannot be used.

    Raises:
        ConfigError: the file itself is wrong.
    """
    config = read_file(file)
    database = status(config.store.url, brought(config).lineages)
    work = look(file) if database.status == "current" else None
    agents = asyncio.run(_agents(config))
    if as_json:
        say_json({**_document(config, database, agents, notes), "work": document(work)})
    else:
        _print(config, database, work, notes)
        _print_agents(agents)
    if any(seen.problems for seen in agents):
        return Exit.CONFIGURATION
    return Exit.OK if database.status in {"absent", "current"} else Exit.STORE


async def _agents(config: AppConfig) -> list[Seen]:
    """Build every agent over a database in memory, so that the real one may be in any state."""
    aside = evolve(config, store=StoreConfig("sqlite://"))
    seen = []
    with log_lines():
        async with wakeful.open(aside) as app:
            for name in app.names():
                problems = app.problems(name)
                seen.append(Seen(name, None if problems else app.describe(name), problems))
    return seen


def _versions() -> dict[str, str]:
    found = {"wakeful": wakeful.__version__, "python": platform.python_version()}
    for name in ("wakeful-migrations", "sqlalchemy", "pluggy"):
        found[name] = metadata.version(name)
    return found | {"sqlite": sqlite3.sqlite_version, "system": platform.platform()}


def _document(
    config: AppConfig, database: Status, agents: Sequence[Seen], notes: Sequence[str]
) -> dict[str, Json]:
    return {
        "file": str(config.path),
        "versions": _versions(),
        "disabled": _disabled(),
        "database": {
            "name": database.label,
            "status": database.status,
            "error": database.error,
            "lineages": states_document(database.states),
        },
        "notes": list(notes),
        "agents": {
            seen.name: {
                "problems": [{"where": p.where, "what": p.what} for p in seen.problems],
                **({} if seen.report is None else plain(seen.report)),
            }
            for seen in agents
        },
    }


def _disabled() -> list[str]:
    return [name.strip() for name in os.environ.get(DISABLE_VARIABLE, "").split(",") if name.strip()]


def _print(config: AppConfig, database: Status, work: Health | None, notes: Sequence[str]) -> None:
    say(" · ".join(f"{name} {version}" for name, version in _versions().items()))
    say(f"file: {config.path}")
    if database.error:
        say_red(database.error)
    else:
        line = f"{database.label}: {_ADVICE[database.status]}"
        (say if database.status in {"absent", "current"} else say_red)(line)
    for state in database.states:
        if state.status != "current":
            say_red(f"  tables of {state.owner}: {state.status}, at {state.current}, needed {state.head}")
    if work is not None:
        tell(work)
    if _disabled():
        say_red(f"{DISABLE_VARIABLE} leaves out: {', '.join(_disabled())}")
    for line in notes:
        say(f"note: {line}")


def _print_agents(agents: Sequence[Seen]) -> None:
    for seen in agents:
        say()
        if seen.report is None:
            say_red(f"agent {seen.name}: cannot be built")
            for problem in seen.problems:
                say_red(f"  problem: {problem}")
        else:
            _agent(seen.report)


def _agent(report: AgentReport) -> None:
    profile, limits = report.profile, report.limits
    say(f"agent {report.name}")
    say(f"  model     {report.model}")
    if report.side_model:
        say(f"  questions {report.side_model}, of plugins without the conversation")
    say(
        f"  profile   provider {profile.provider}, window {profile.window:,}, output {profile.output:,},"
        f" cache {profile.family}, {'native' if profile.native_tools else 'no native'} tools"
    )
    bounds = [
        f"{limits.steps} steps" if limits.steps else "any number of steps",
        f"{limits.seconds:g} s" if limits.seconds else "any time",
        f"{limits.tokens:,} tokens" if limits.tokens else "any number of tokens",
        f"${limits.cost:g}" if limits.cost else "any cost",
    ]
    say(f"  limits    {', '.join(bounds)}")
    say(f"  plugins   {', '.join(report.plugins) or 'none'}")
    say(f"  sections  {', '.join(report.sections) or 'none'}")
    say(f"  tools     {', '.join(report.tools) or 'none'}")
    if report.deferred:
        say(f"  deferred  {', '.join(report.deferred)}")
    say(f"  slots     {', '.join(f'{slot}: {owner}' for slot, owner in report.slots.items())}")
    say(f"  prefix    {report.prefix[:DIGEST]}")
    if report.actions:
        rows = [
            (
                one.tool_name,
                one.effect.value,
                one.output_trust.label,
                one.owner,
                "" if one.max_executions is None else str(one.max_executions),
            )
            for one in report.actions
        ]
        say_table(("action", "effect", "output", "owner", "at most"), rows, indent=2)
    for warning in report.warnings:
        say_red(f"  warning: {warning}")
