"""``wakeful notes``: what people do with notes. What does the work is imported when it is called."""

from __future__ import annotations

from typing import Annotated

import typer

from wakeful.cli.extra import Commands
from wakeful.cli.options import DEFAULT_FILE, AsJson, File

app = typer.Typer(
    cls=Commands,
    help="List, show, confirm and drop what agents have noted about users.",
    add_completion=False,
    rich_markup_mode=None,
)

Id = Annotated[str, typer.Argument(metavar="NOTE", help="Id of the note.")]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who decides; default: who is logged in.")]

Everything = Annotated[
    bool, typer.Option("--all", help="Also those that lapsed, were superseded or dropped.")
]
Own = Annotated[
    bool, typer.Option("--own", help="Its words are the user's own: it no longer counts as outside text.")
]


@app.command("list")
def list_(
    agent: Annotated[str, typer.Option("--agent", "-a", metavar="NAME", help="Only of this agent.")] = "",
    user: Annotated[str, typer.Option("--user", "-u", metavar="NAME", help="Only about this user.")] = "",
    *,
    everything: Everything = False,
    file: File = DEFAULT_FILE,
    json: AsJson = False,
) -> int:
    """List notes: what is read back, and what waits for a person."""
    from wakeful_notes.people import list_notes

    return list_notes(file, agent, user, everything=everything, as_json=json)


@app.command()
def show(note: Id, *, file: File = DEFAULT_FILE, json: AsJson = False) -> int:
    """Show a note and where it came from."""
    from wakeful_notes.people import show_note

    return show_note(file, note, as_json=json)


@app.command()
def confirm(
    note: Id,
    by: By = "",
    *,
    own: Own = False,
    file: File = DEFAULT_FILE,
    json: AsJson = False,
) -> int:
    """Confirm a note: it is read back from the next turn on, until somebody drops it."""
    from wakeful_notes.people import confirm_note

    return confirm_note(file, note, by, own=own, as_json=json)


@app.command()
def drop(note: Id, by: By = "", *, file: File = DEFAULT_FILE, json: AsJson = False) -> int:
    """Drop a note: it is never read back again."""
    from wakeful_notes.people import drop_note

    return drop_note(file, note, by, as_json=json)
