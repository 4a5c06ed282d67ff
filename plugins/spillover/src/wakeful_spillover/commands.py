"""``wakeful artifacts``: what people do with artifacts. What does the work is imported when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wakeful.cli.extra import Commands
from wakeful.cli.options import DEFAULT_FILE, AsJson, File

app = typer.Typer(
    cls=Commands,
    help="List, show, query and export artifacts of conversations.",
    add_completion=False,
    rich_markup_mode=None,
)

Thread = Annotated[str, typer.Argument(metavar="CONVERSATION", help="Id of the conversation.")]
Handle = Annotated[str, typer.Argument(metavar="HANDLE", help="Handle of the artifact, e.g. A.")]


@app.command("list")
def list_(conversation: Thread, *, file: File = DEFAULT_FILE, json: AsJson = False) -> int:
    """List the artifacts of a conversation."""
    from wakeful_spillover.people import list_artifacts

    return list_artifacts(file, conversation, as_json=json)


@app.command()
def show(conversation: Thread, handle: Handle, *, file: File = DEFAULT_FILE, json: AsJson = False) -> int:
    """Say what an artifact is and show its beginning."""
    from wakeful_spillover.people import show_artifact

    return show_artifact(file, conversation, handle, as_json=json)


@app.command()
def query(  # noqa: PLR0913  # an option of a command is a parameter of its function
    conversation: Thread,
    handle: Handle,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="CONDITION", help="E.g. 'amount gt 50000'; may be given again."),
    ] = None,
    *,
    any_: Annotated[bool, typer.Option("--any", help="Any condition is enough.")] = False,
    columns: Annotated[str, typer.Option("--columns", metavar="NAMES", help="Separated by commas.")] = "",
    group_by: Annotated[str, typer.Option("--group-by", metavar="NAMES", help="Separated by commas.")] = "",
    aggregate: Annotated[
        list[str] | None,
        typer.Option("--aggregate", metavar="FIGURE", help="E.g. 'sum amount'; may be given again."),
    ] = None,
    sort: Annotated[
        str, typer.Option("--sort", metavar="NAMES", help="Separated by commas; -name is descending.")
    ] = "",
    path: Annotated[str, typer.Option("--path", metavar="JSONPATH", help="Values in nested JSON.")] = "",
    grep: Annotated[str, typer.Option("--grep", metavar="PATTERN", help="Lines that match (RE2).")] = "",
    context: Annotated[int, typer.Option("--context", min=0, help="Lines around each match.")] = 0,
    start: Annotated[int, typer.Option("--start", min=1, help="The first to show.")] = 1,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 50,
    file: File = DEFAULT_FILE,
    json: AsJson = False,
) -> int:
    """Ask what a model can ask: rows of a table, values at a path, lines of a text."""
    from wakeful_spillover.people import query_artifact
    from wakeful_spillover.wanted import Wanted

    wanted = Wanted(
        tuple(where or ()),
        any_,
        _names(columns),
        _names(group_by),
        tuple(aggregate or ()),
        _names(sort),
        path,
        grep,
        context,
        start,
        limit,
    )
    return query_artifact(file, conversation, handle, wanted, as_json=json)


@app.command()
def export(
    conversation: Thread,
    handle: Handle,
    to: Annotated[Path, typer.Argument(metavar="FILE", help="Its ending says how: .csv, .json, .parquet …")],
    *,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
    file: File = DEFAULT_FILE,
    json: AsJson = False,
) -> int:
    """Write an artifact to a file."""
    from wakeful_spillover.people import export_artifact

    return export_artifact(file, conversation, handle, to, force=force, as_json=json)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
