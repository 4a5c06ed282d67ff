"""``wakeful taint``: what tainted a conversation, when, and what that changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wakeful.cli.options import DEFAULT_FILE, AsJson, File


def taint(
    words: Annotated[
        list[str], typer.Argument(metavar="[reset] CONVERSATION", help="Id of the conversation.")
    ],
    file: File = DEFAULT_FILE,
    *,
    json: AsJson = False,
) -> int:
    """Show what tainted a conversation and what that changed; `reset` starts a clean epoch."""
    from wakeful_taint.people import reset_conversation, show_conversation

    resetting = len(words) > 1 and words[0] == "reset"
    if len(words) != 1 + resetting:
        raise typer.BadParameter(
            "expected `wakeful taint CONVERSATION` or `wakeful taint reset CONVERSATION`"
        )
    act = reset_conversation if resetting else show_conversation
    return act(Path(file), words[-1], as_json=json)
