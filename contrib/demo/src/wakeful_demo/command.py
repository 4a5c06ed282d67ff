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


def demo(
    folder: Annotated[
        Path | None, typer.Option(help="Keep the files there; default: a temporary folder.")
    ] = None,
    model: Annotated[str, typer.Option(help="scheme:name; default: what a key allows, else a script.")] = "",
    setup: Annotated[bool, typer.Option("--setup", help="Only write the files.")] = False,
) -> None:
    """Show an assistant at work on a small company's real database."""
    from wakeful_demo.setup import InUseError, choose_model, lay_out

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
        if asyncio.run(_play(path)):
            raise typer.Exit(1)


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
