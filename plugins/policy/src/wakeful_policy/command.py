"""``wakeful policy``: the rules, what they say of a call and why, and a test for tables of cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wakeful.cli.extra import Commands
from wakeful.cli.options import DEFAULT_FILE, AgentName, AsJson, File

app = typer.Typer(
    cls=Commands,
    help="List rules, explain verdicts, test a table of cases.",
    add_completion=False,
    rich_markup_mode=None,
)

Tainted = Annotated[bool, typer.Option("--tainted", help="As if the run had read outside text.")]


@app.command("list")
def list_(agent: AgentName, *, file: File = DEFAULT_FILE, json: AsJson = False) -> int:
    """List the rules of an agent, the most specific first, with those that people have added."""
    from wakeful_policy.people import list_rules

    return list_rules(file, agent, as_json=json)


@app.command()
def remove(
    agent: AgentName,
    rule: Annotated[str, typer.Argument(metavar="RULE", help="Name of an added rule, such as `added-1`.")],
    person: Annotated[str, typer.Option("--as", metavar="NAME", help="Who; default: who is logged in.")] = "",
    file: File = DEFAULT_FILE,
    *,
    json: AsJson = False,
) -> int:
    """Take back a rule that somebody has added with a decision."""
    from wakeful_policy.people import remove_rule

    return remove_rule(file, agent, rule, person, as_json=json)


@app.command()
def explain(
    agent: AgentName,
    action: Annotated[str, typer.Argument(metavar="ACTION", help="Name of the action.")],
    args: Annotated[str, typer.Option("--args", metavar="JSON", help="Arguments of the call.")] = "{}",
    words: Annotated[str, typer.Option("--words", metavar="TEXT", help="What the user said.")] = "",
    *,
    tainted: Tainted = False,
    at: Annotated[
        str,
        typer.Option("--at", metavar="TIME", help="When, such as `2026-03-04T12:00` (UTC); default: now."),
    ] = "",
    file: File = DEFAULT_FILE,
    json: AsJson = False,
) -> int:
    """Say what would become of a call: which rule, which plugin, which verdict, why."""
    from wakeful_policy.people import Asked, explain_call

    return explain_call(file, Asked(agent, action, args, words, tainted, at), as_json=json)


@app.command("test")
def check(
    cases: Annotated[Path, typer.Argument(metavar="CASES", help="A TOML file with [[case]] tables.")],
    file: File = DEFAULT_FILE,
    *,
    json: AsJson = False,
) -> int:
    """Check a table of cases; 1 if one of them gets another verdict."""
    from wakeful_policy.cases import check_cases

    return check_cases(file, cases, as_json=json)
