"""The scenes beside the main one: a sub-agent, and a flow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from rich.console import Console

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
    from wakeful.types import RunEnded, RunStatus
    from wakeful_demo.show import Show

    console.print(f"\n{scene.title}", style="bold", markup=False)
    show = Show(console)
    failed = False
    async with wakeful.open(folder / FILE) as app:
        show.ask(scene.question)
        async for event in app.stream(scene.agent, scene.question, conversation=scene.agent, user="ana"):
            show.event(event)
            if isinstance(event, RunEnded):
                show.answer(event.answer)
                failed = event.answer.status is not RunStatus.COMPLETED
        await _below(app, scene, console)
    show.table()
    return failed


async def _below(app: object, scene: Scene, console: Console) -> None:
    """Print the runs that the scene's run has started."""
    from sqlalchemy import select

    from wakeful.store.tables import run

    query = select(run.c.agent, run.c.status, run.c.steps, run.c.parent_step, run.c.text)
    query = query.where(run.c.parent_run.is_not(None)).order_by(run.c.started_at)
    for found in await app.store.read(lambda conn: conn.execute(query).all()):  # type: ignore[attr-defined]
        line = f"  below {scene.agent}, step {found.parent_step}: {found.agent} took {found.steps} steps"
        console.print(f"{line} and is {found.status}", markup=False, highlight=False)
