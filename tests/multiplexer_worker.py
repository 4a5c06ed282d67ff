"""An agent whose process dies in the middle of a call that runs several hidden actions.

python multiplexer_worker.py DATABASE FOLDER MODEL [RUN]

Begins a turn, or goes on with a run, and prints what came of it as JSON. MODEL is JSON: the model's name and
its provider's settings.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from sqlalchemy import select

import wakeful
from wakeful import ActionContext, Agent, action
from wakeful.store.tables import action_call, message
from wakeful.testing.catalogue import actions
from wakeful.types import ActionResult


def agent(database: str, folder: Path, model: dict[str, Any]) -> Agent:
    """Return the agent; its actions count in ``folder`` how often they ran."""

    def count(name: str) -> int:
        with (folder / name).open("a") as file:
            file.write(".")
        return (folder / name).stat().st_size

    @action(effect="external", output_trust="trusted")
    async def finish_once() -> str:
        """Finish before the process dies."""
        return f"finished {count('finished')}"

    @action(effect="external", output_trust="trusted")
    async def hang_once(ctx: ActionContext) -> str:
        """Begin and never end."""
        count("hung")
        await asyncio.Event().wait()
        return "never"

    @action(effect="read", output_trust="trusted")
    async def read_again(ctx: ActionContext) -> ActionResult:
        """Kill the process when the others are where they should be, the first time."""
        tries = count("read")
        done = select(action_call.c.status).where(action_call.c.action == "finish_once")
        while tries == 1:
            ((status,),) = await ctx.services.read(done)
            if status == "done" and (folder / "hung").exists():
                os.kill(os.getpid(), signal.SIGKILL)
            await asyncio.sleep(0)
        return ActionResult(message=f"read {tries}")

    return Agent(
        model=model["model"],
        actions=(*actions(), finish_once, hang_once, read_again),
        plugins=["multiplexer"],
        settings={**model["settings"], "multiplexer": {"backend": "tools"}},
        store=database,
        folder=folder,
    )


async def main(database: str, folder: str, model: str, run_id: str = "") -> dict[str, Any]:
    """Do one or the other."""
    async with wakeful.open(agent(database, Path(folder), json.loads(model))) as app:
        if not run_id:
            await app.send("agent", "Go", conversation="c-1")
        answer = await app.resume(run_id)
        calls = select(action_call.c.action, action_call.c.inner, action_call.c.code).order_by(
            action_call.c.inner
        )
        rows = await app.store.read(lambda conn: [list(row) for row in conn.execute(calls)])
        results = select(message.c["items"]).where(message.c.kind == "result")
        texts = await app.store.read(lambda conn: [row[0] for row in conn.execute(results)])
    return {"answer": answer.text, "calls": rows, "results": texts}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(*sys.argv[1:]))))
