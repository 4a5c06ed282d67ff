"""A process that serves a queue; started by test_runtime_processes.py with its settings as JSON.

It writes into the table ``trace``, each line in one transaction with the question whether it still holds
the item.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from sqlalchemy import Connection, text

from wakeful.runtime import EmbeddedRuntime, owner_name
from wakeful.runtime.claims import holds
from wakeful.store.engine import Store
from wakeful.system import SystemClock
from wakeful.types import Claim

_TRACE = text("INSERT INTO trace (item, key, who, what) VALUES (:item, :key, :who, :what)")
#: Takes a key in a table of its own; fails if somebody else is in.
_ENTER = text("INSERT INTO inside (key) VALUES (:key)")
_LEAVE = text("DELETE FROM inside WHERE key = :key")


async def main(url: str, who: str, lease_s: float, concurrency: int, mode: str) -> None:
    clock = SystemClock()
    store = await Store.open(url, create=False, clock=clock)
    owner = owner_name() if mode != "stranger" else f"another machine/{who}"
    runtime = EmbeddedRuntime(store, clock, owner, lease_s=lease_s, poll_s=0.05)

    async def note(claim: Claim, what: str) -> bool:
        values = {"item": claim.item.id, "key": claim.item.key, "who": who, "what": what}

        def write(conn: Connection) -> bool:
            if not holds(conn, claim):
                return False
            conn.execute(_TRACE, values)
            return True

        return await store.write(write)

    async def hold(claim: Claim) -> None:
        """Write for as long as the item is this process's own."""
        while await note(claim, f"attempt {claim.attempt}"):
            if claim.attempt > 1:
                return
            await clock.sleep(0.02)

    async def contest(claim: Claim) -> None:
        """Be inside the key, alone."""
        await store.write(lambda conn: conn.execute(_ENTER, {"key": claim.item.key}) and None)
        await store.write(lambda conn: conn.execute(_LEAVE, {"key": claim.item.key}) and None)
        await note(claim, f"attempt {claim.attempt}")

    handlers: dict[str, Any] = {"hold": hold, "contest": contest}
    await runtime.start(handlers, concurrency=concurrency)
    print("ready", flush=True)  # noqa: T201  (the test waits for it)
    # Serves until the test closes the pipe.
    await asyncio.to_thread(sys.stdin.read)
    await runtime.stop(drain=True)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(**json.loads(sys.argv[1])))
