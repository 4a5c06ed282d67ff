"""Processes that do one thing to the database and end, forked so that nothing is imported again."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from attrs import frozen

import wakeful
from tests.durability.kills import Counting, Point
from tests.durability.world import CONVERSATION, Effects, agent
from wakeful import App
from wakeful.runtime import claims
from wakeful.types import NotFoundError

#: Seconds in which a process must have come to its end.
LIMIT_S = 40.0

#: Seconds in which work is left to the process that submitted it: none of ours waits for a stream.
AFFINITY_S = 0.05

Doing = Callable[[App], Awaitable[Any]]


@frozen
class Ended:
    """How a process ended: ``killed``, ``failed`` with what it said, or ``ok`` with what it gave."""

    how: str
    value: Any = None


class Process:
    """A process of its own that does ``work``; what that returns must be JSON."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        said = Path(self._folder.name) / "said"
        self.pid = os.fork()
        if not self.pid:
            _work(work, said)

    def signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def ended(self) -> Ended:
        """Wait for its end."""
        with self._folder as folder:
            _, status = os.waitpid(self.pid, 0)
            if os.WIFSIGNALED(status):
                return Ended("killed")
            said = Path(folder) / "said"
            value = json.loads(said.read_text("utf-8")) if said.exists() else "said nothing"
            return Ended("ok" if not os.WEXITSTATUS(status) else "failed", value)


def fork(work: Callable[[], Any]) -> Ended:
    """Run ``work`` in a process of its own and wait for its end."""
    return Process(work).ended()


def _work(work: Callable[[], Any], said: Path) -> None:
    code = 0
    logging.getLogger("wakeful").setLevel(logging.CRITICAL)
    try:
        value = work()
    except BaseException:  # noqa: BLE001  (the parent is told, whatever it was)
        code, value = 1, traceback.format_exc()
    said.write_text(json.dumps(value), "utf-8")
    sys.stdout.flush()
    os._exit(code)  # nothing of the parent's is closed or flushed here


def in_app(url: str, effects: Path, doing: Doing, point: Point | None = None) -> Ended:
    """Do something with an open application in a process of its own; gives the points it passed."""

    def work() -> dict[str, int]:
        counting = Counting(point)
        counting.install()
        asyncio.run(_bounded(_opened(url, effects, doing)))
        return dict(counting.counts)

    return fork(work)


async def _bounded(work: Coroutine[Any, Any, None]) -> None:
    async with asyncio.timeout(LIMIT_S):
        await work


async def _opened(url: str, effects: Path, doing: Doing) -> None:
    claims.AFFINITY_S = AFFINITY_S
    async with wakeful.open(agent(url, Effects(effects))) as app:
        await doing(app)


# ---- what a process does


async def send(app: App) -> None:
    """Begin the turn and stay with it until it ends or waits for a person."""
    await app.send("agent", "Go", conversation=CONVERSATION)


def resume(run_id: str) -> Doing:
    """Go on with the run."""

    async def doing(app: App) -> None:
        await app.resume(run_id)

    return doing


async def serve(app: App) -> None:
    """Only be there, as a server is: whatever is left is taken up by itself."""
    from tests.durability.looks import idle

    while not await app.store.read(idle):  # noqa: ASYNC110  (other processes end it)
        await asyncio.sleep(0.02)


def decide(request_id: str, *, yes: bool, stay: bool) -> Doing:
    """Decide a held call; with ``stay`` see what comes of it."""

    async def doing(app: App) -> None:
        try:
            if yes:
                await app.approvals.approve(request_id, by="ana")
            else:
                await app.approvals.reject(request_id, by="ana")
        except NotFoundError:
            return  # an earlier process that was killed right after had decided
        if stay:
            await serve(app)

    return doing
