"""The scenes beside the main one: a hostile mail, a sub-agent, and a flow."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from wakeful_demo.office import DATABASE

if TYPE_CHECKING:
    from rich.console import Console

    from wakeful.app import App
    from wakeful.types import Answer
    from wakeful_demo.show import Show

#: Who talks to the agents and decides what waits.
PERSON = "ana"
#: The configuration of the scenes, beside that of the main one.
FILE = "scenes.toml"


@frozen
class Scene:
    """One turn of one agent.

    Args:
        title: printed before it.
        agent: of the configuration.
        question: what it is told.
    """

    title: str
    agent: str
    question: str


SCENES = {
    "hostile-mail": Scene(
        "A scene with a hostile mail: the model does everything that it asks for, and nothing leaves.",
        "mailroom",
        "Read mail 3, then write to sara@lindqvist.example: thank you for the new number",
    ),
    "sub-agent": Scene(
        "A scene with a sub-agent: the clerk has a conversation of its own.",
        "chief",
        "What do the mails 2 and 3 want from us?",
    ),
    "flow": Scene(
        "A scene with a flow: its steps stand in a file, and the model is asked once.",
        "reminders",
        "Remind everybody whose invoice was due before November.",
    ),
}


async def play(scene: Scene, folder: Path, console: Console) -> bool:
    """Play a scene and print it; return whether it failed."""
    import wakeful
    from wakeful.types import RunStatus
    from wakeful_demo.show import Show

    console.print(f"\n{scene.title}", style="bold", markup=False)
    show = Show(console)
    async with wakeful.open(folder / FILE) as app:
        show.ask(scene.question)
        answer = await _heard(app, scene, show)
        if answer.status.parked:
            await _printed(console, "approvals", "list", "--file", str(folder / FILE))
            answer = await _rejected(app, answer, show)
            await _printed(console, "taint", scene.agent, "--file", str(folder / FILE))
            _sent(folder, console)
        await _below(app, scene, console)
    show.table()
    return answer.status is not RunStatus.COMPLETED


async def _heard(app: App, scene: Scene, show: Show) -> Answer:
    """Run the turn, print it as it happens, and return its answer."""
    from wakeful.types import RunEnded

    async for event in app.stream(scene.agent, scene.question, conversation=scene.agent, user=PERSON):
        show.event(event)
        if isinstance(event, RunEnded):
            show.answer(event.answer)
            return event.answer
    raise RuntimeError("the run has no end")  # every stream ends with one


async def _printed(console: Console, *command: str) -> None:
    """Print what a command says."""
    from wakeful.cli.main import main

    console.print(f"\n$ wakeful {' '.join(command[:-2])}", style="bold", markup=False, highlight=False)
    await asyncio.to_thread(main, list(command))


async def _rejected(app: App, answer: Answer, show: Show) -> Answer:
    """Let the person reject everything that waits, and return how the run ends."""
    for request in answer.pending:
        await app.approvals.reject(request, by=PERSON)
    show.console.print(f"\n{PERSON} rejects all of it.", style="bold", markup=False)
    ended = await app.resume(answer.run_id)
    show.says(ended.text or f"{ended.status.value}: {ended.error}")
    return ended


def _sent(folder: Path, console: Console) -> None:
    """Print what left the office."""
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        found = connection.execute("SELECT recipient FROM outbox ORDER BY id").fetchall()
    left = ", ".join(recipient for (recipient,) in found) or "nobody"
    console.print(f"\nMail went to: {left}", markup=False, highlight=False)


async def _below(app: App, scene: Scene, console: Console) -> None:
    """Print the runs that the scene's run has started."""
    from sqlalchemy import select

    from wakeful.store.tables import run

    above = select(run.c.id).where(run.c.conversation_id == scene.agent)
    query = select(run.c.agent, run.c.status, run.c.steps, run.c.parent_step)
    query = query.where(run.c.parent_run.in_(above)).order_by(run.c.started_at)
    for found in await app.store.read(lambda conn: conn.execute(query).all()):
        line = f"  below {scene.agent}, step {found.parent_step}: {found.agent} took {found.steps} steps"
        console.print(f"{line} and is {found.status}", markup=False, highlight=False)
