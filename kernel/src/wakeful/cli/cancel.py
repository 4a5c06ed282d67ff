"""``wakeful runs cancel``: end a run, wherever it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

from wakeful.cli.exits import Exit
from wakeful.cli.output import say, say_json
from wakeful.cli.run import opened
from wakeful.store.records import get_run
from wakeful.types import Json, RunStatus


def cancel_run(file: Path, run_id: str, *, as_json: bool) -> int:
    """Cancel a run and wait for its end; 1 if it had ended before.

    Raises:
        NotFoundError: there is no such run; names the nearest.
        WakefulError: the agents or the database cannot be used.
    """

    async def work() -> tuple[bool, str]:
        async with opened(file) as app:
            cancelled = await app.cancel(run_id)
            found = await app.store.read(lambda conn: get_run(conn, run_id))
            if found is None and cancelled:
                return True, RunStatus.CANCELLED.value  # it had not begun and leaves no record
            return cancelled, (await app.resume(run_id)).status.value

    cancelled, status = asyncio.run(work())
    if as_json:
        document: dict[str, Json] = {"run": run_id, "cancelled": cancelled, "status": status}
        say_json(document)
    else:
        say(f"run {run_id}: {status}" + ("" if cancelled else "; it had ended, nothing was cancelled"))
    return Exit.OK if cancelled else Exit.RUN_FAILED
