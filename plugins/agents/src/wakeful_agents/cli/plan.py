"""``wakeful plan``: a person looks at a plan and decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

plan = typer.Typer(help="Look at the plan of a conversation, approve it or withdraw it.")

_File = Annotated[Path, typer.Option("--file", "-f", metavar="PATH", help="The configuration file.")]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
_Conversation = Annotated[str, typer.Argument(metavar="CONVERSATION", help="Id of the conversation.")]
_By = Annotated[str, typer.Option("--as", "--by", metavar="NAME", help="Who decides.")]
_Seen = Annotated[
    str | None,
    typer.Option(
        "--fingerprint", metavar="TEXT", help="As `plan show` printed it; no other plan is approved then."
    ),
]
_TOML = Path("wakeful.toml")


@plan.command()
def show(conversation: _Conversation, file: _File = _TOML, json: _Json = False) -> int:
    """Print the plan, where it stands and its fingerprint."""
    return _tell(file, conversation, json, None)


@plan.command()
def approve(
    conversation: _Conversation, seen: _Seen = None, by: _By = "", file: _File = _TOML, json: _Json = False
) -> int:
    """Approve the plan that waits, and print it; from the next turn on it may be carried out."""
    from wakeful_agents.plan.decide import approved

    return _tell(file, conversation, json, lambda now: approved(now, by, seen), by)


@plan.command()
def withdraw(conversation: _Conversation, by: _By = "", file: _File = _TOML, json: _Json = False) -> int:
    """Take an approval back, or drop a plan that waits."""
    from wakeful_agents.plan.decide import withdrawn

    return _tell(file, conversation, json, withdrawn, by)


def _tell(
    file: Path, conversation: str, as_json: bool, change: Callable[[Any], Any] | None, by: str = ""
) -> int:
    from wakeful.cli.output import say, say_json
    from wakeful_agents.plan.decide import decide

    found = asyncio.run(decide(file, conversation, change, by))
    if as_json:
        say_json({"conversation": conversation, **found.dump(), "fingerprint": found.fingerprint})
        return 0
    if found.text:
        say(found.text)
        say()
    say(f"plan: {found.status}" + (f" by {found.by}" if found.by else ""))
    if found.fingerprint:
        say(f"fingerprint: {found.fingerprint}")
    return 0
