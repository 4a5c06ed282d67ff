"""A process whose agent fails again and again and dies in the middle of a step, or goes on with that run.

python breaker_worker.py FOLDER

Prints how the calls of the run ended, as one line of JSON. Every execution adds a line to ``done``.
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

from wakeful import ActionError, Agent, action
from wakeful import open as open_app
from wakeful.store.tables import action_call, run
from wakeful.testing import ScriptedModel, say
from wakeful.types import Action, Request, Result

#: One call a step: tool and item. The process dies in the one that says so, the first time.
SCRIPT = [
    *("look_up a", "look_up a", "look_up b", "look_up c", "list_items key", "read_again now"),
    *("look_up a", "list_items b", "look_up d", "look_up ok"),
]


def actions(folder: Path) -> list[Action]:
    """Declare what fails and what kills the process."""

    def note(text: str) -> int:
        with (folder / "done").open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
        return (folder / "done").read_text(encoding="utf-8").splitlines().count(text)

    @action(effect="read", output_trust="trusted")
    async def look_up(item: str) -> str:
        """Look an item up."""
        note(f"look_up {item}")
        if item == "ok":
            return item
        raise ActionError("OUT_OF_STOCK", f"there is no {item}", retryable=True)

    @action(effect="read", output_trust="trusted")
    async def list_items(item: str) -> str:
        """List items; needs credentials that are missing."""
        note(f"list_items {item}")
        raise ActionError("MISSING_CREDENTIALS", "no key")

    @action(effect="read", output_trust="trusted")
    async def read_again(item: str) -> str:
        """Kill the process, once."""
        if note(f"read_again {item}") == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    return [look_up, list_items, read_again]


def _reply(request: Request) -> Any:
    made = sum(isinstance(item, Result) for item in request.items)
    if made == len(SCRIPT):
        return "Done."
    tool, item = SCRIPT[made].split()
    return say(calls=[(tool, {"item": item})])


async def main(folder: Path) -> None:
    """Begin the run, or go on with the one there is."""
    agent = Agent(
        model=ScriptedModel([_reply] * (len(SCRIPT) + 1)),
        actions=actions(folder),
        plugins=["recovery"],
        store=f"sqlite:///{folder / 'wakeful.db'}",
        folder=folder,
    )
    async with open_app(agent) as app:
        left = await app.store.read(lambda conn: conn.execute(select(run.c.id)).scalar())
        answer = await (app.resume(left) if left else app.send("agent", "Go", conversation="c"))
        codes = select(action_call.c.code).order_by(action_call.c.step)
        found = await app.store.read(lambda conn: list(conn.execute(codes).scalars()))
    print(json.dumps({"text": answer.text, "codes": found}), flush=True)  # noqa: T201  (read by the test)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
