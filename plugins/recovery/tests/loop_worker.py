"""A process that runs a loop, or goes on with the one that another process left.

python loop_worker.py FOLDER ROWS [read]

Every execution adds a line to ``done`` in the folder; the end of the run is printed as one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from sqlalchemy import select

from wakeful import Agent, action
from wakeful import open as open_app
from wakeful.store.tables import run
from wakeful.testing import ScriptedModel, say
from wakeful.types import Action, Request, Result

CALL = {"action": "mark", "args": {"number": "item.number", "name": "item.name"}, "from_action": "customers"}


def actions(folder: Path, rows: int, effect: Any) -> list[Action]:
    """Declare the list that is gone through and what is done with each entry."""
    done = (folder / "done").open("a", buffering=1, encoding="utf-8")

    @action(effect="read", output_trust="trusted")
    async def customers() -> list[dict[str, Any]]:
        """Return the customers."""
        return [{"number": number, "name": f"customer {number}"} for number in range(rows)]

    @action(effect=effect, output_trust="trusted")
    async def mark(number: int, name: str) -> dict[str, Any]:
        """Mark a customer."""
        done.write(f"{number}\n")
        return {"number": number, "greeting": f"Dear {name}, thank you for waiting."}

    return [customers, mark]


def _reply(request: Request) -> Any:
    if any(isinstance(item, Result) for item in request.items):
        return "Done."
    return say(calls=[("for_each", CALL)])


async def main(folder: Path, rows: int, effect: str) -> None:
    """Run the loop to its end."""
    agent = Agent(
        model=ScriptedModel([_reply] * 4),
        actions=actions(folder, rows, effect),
        plugins=["loops"],
        settings={"loops": {"max_failures": 0}},
        store=f"sqlite:///{folder / 'wakeful.db'}",
        folder=folder,
    )
    began = time.process_time()
    async with open_app(agent) as app:
        left = await app.store.read(lambda conn: conn.execute(select(run.c.id)).scalar())
        answer = await (app.resume(left) if left else app.send("agent", "Mark them all", conversation="c"))
        ended = {"status": answer.status.value, "text": answer.text, "error": answer.error}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({**ended, "peak": peak, "cpu": time.process_time() - began}), flush=True)  # noqa: T201  (read by the test)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "external"))
