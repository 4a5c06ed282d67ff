"""``wakeful flow``: check a flow, and draw it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from wakeful_agents.flow.model import Flow

flow = typer.Typer(help="Check flows, and draw them.")

_Flow = Annotated[Path, typer.Argument(metavar="FILE", help="The flow, a TOML file.")]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


@flow.command()
def check(file: _Flow, json: _Json = False) -> int:
    """Say whether a flow is well-formed, and everything that is wrong with it."""
    from wakeful.cli.output import say, say_json

    found = _read(file)
    if json:
        say_json({"file": file.name, "steps": len(found.steps), "start": found.start})
    else:
        say(f"{file.name}: {len(found.steps)} steps, starts with {found.start}")
    return 0


@flow.command()
def show(
    file: _Flow,
    svg: Annotated[bool, typer.Option("--svg", help="SVG instead of Mermaid text.")] = False,
    json: _Json = False,
) -> int:
    """Print a picture of a flow: Mermaid text, or SVG."""
    from wakeful.cli.output import say, say_json
    from wakeful_agents.flow import picture

    found = _read(file)
    text = picture.svg(found) if svg else picture.mermaid(found)
    if json:
        say_json({"file": file.name, "format": "svg" if svg else "mermaid", "picture": text})
    else:
        say(text)
    return 0


def _read(file: Path) -> Flow:
    from wakeful_agents.flow.files import read_file

    return read_file(file, file.name or str(file))
