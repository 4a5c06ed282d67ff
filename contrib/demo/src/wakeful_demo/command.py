"""``wakeful demo``."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Annotated

import typer

CONVERSATION = "demo"
QUESTIONS = (
    "Who owes us money, and how much?",
    "Is there anything new in the inbox?",
    "Take over Lindqvist's new number, and mark invoice 1008 as paid.",
)

#: The main scene, and all of them.
OFFICE, ALL = "office", "all"


def demo(
    folder: Annotated[
        Path | None, typer.Option(help="Keep the files there; default: a temporary folder.")
    ] = None,
    model: Annotated[str, typer.Option(help="scheme:name; default: what a key allows, else a script.")] = "",
    scene: Annotated[
        str,
        typer.Option(help="office, hostile-mail, sub-agent, flow or all; default: all of a script."),
    ] = "",
    setup: Annotated[bool, typer.Option("--setup", help="Only write the files.")] = False,
) -> None:
    """Show an assistant at work on a small company's real database."""
    from wakeful_demo.setup import SCRIPT, InUseError, choose_model, lay_out

    chosen, why = (model, f"Talking to {model}.") if model else choose_model()
    with tempfile.TemporaryDirectory(prefix="wakeful-demo-") as temporary:
        place = folder or Path(temporary)
        try:
            path = lay_out(place, chosen)
        except InUseError as error:
            typer.echo(f"error: {place} already holds {error}; choose another --folder", err=True)
            raise typer.Exit(2) from None
        except OSError as error:
            typer.echo(f"error: {place} cannot be written: {error.strerror}", err=True)
            raise typer.Exit(2) from None
        if setup:
            if folder is None:
                typer.echo("error: --setup needs a --folder to write to", err=True)
                raise typer.Exit(2)
            typer.echo(f"Wrote {path}. Try: cd {place} && wakeful run desk 'Who owes us money?'")
            return
        typer.echo(why)
        for name in _wanted(scene, scripted=chosen == SCRIPT):
            if asyncio.run(_play(path) if name == OFFICE else _scene(name, place)):
                raise typer.Exit(1)


def _wanted(scene: str, *, scripted: bool) -> tuple[str, ...]:
    """Return the scenes to play."""
    from wakeful.types import ConfigError, Problem, nearest
    from wakeful_demo.scenes import SCENES

    known = (OFFICE, *SCENES)
    if scene == ALL or (not scene and scripted):
        return known
    if scene not in ("", *known):
        raise ConfigError([Problem("--scene", f"unknown scene {scene!r}{nearest(scene, (*known, ALL))}")])
    return (scene or OFFICE,)


async def _scene(name: str, folder: Path) -> bool:
    """Play one of the smaller scenes; return whether it failed."""
    from rich.console import Console

    from wakeful_demo.scenes import SCENES, play

    return await play(SCENES[name], folder, Console())


async def _play(path: Path) -> bool:
    """Run the conversation; return whether any turn failed."""
    from rich.console import Console

    import wakeful
    from wakeful.types import RunEnded, RunStatus
    from wakeful_demo.price import prices, read_prompts
    from wakeful_demo.show import Show

    show = Show(Console())
    failed = False
    async with wakeful.open(path) as app:
        for question in QUESTIONS:
            show.ask(question)
            async for event in app.stream("desk", question, conversation=CONVERSATION, user="ana"):
                show.event(event)
                if isinstance(event, RunEnded):
                    show.answer(event.answer)
                    failed = event.answer.status is not RunStatus.COMPLETED
            if failed:
                show.console.print("The demonstration stops here: this turn failed.")
                break
        prompts = await app.store.read(lambda conn: read_prompts(conn, CONVERSATION))
    show.table()
    show.prices(prices(prompts))
    return failed
