"""Plays a plan of :mod:`tests.prefixes` in two processes: one is killed at a request, another goes on.

``python -m tests.relay FOLDER kill`` reads one plan a line, with ``until``: the request at which a process
of its own dies, with the model's reply still to come. ``python -m tests.relay FOLDER go-on`` reads the same
lines, goes on with each run in a process of its own, and prints the digest of the bodies of both.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.prefixes import Theatre, body_maker, compared
from wakeful.types import canonical, digest


class Relay:
    """The two halves of one plan, which meet in a database and a file."""

    def __init__(self, folder: Path, plan: Mapping[str, Any]) -> None:
        self.plan = plan
        self.left = folder / f"left-{plan['number']}.json"
        store = f"sqlite:///{folder}/plan-{plan['number']}.db"
        self.theatre = Theatre(folder, store)

    async def kill(self) -> None:
        """Play until the process dies."""
        plan, theatre = self.plan, self.theatre
        app, player = await self._opened()

        def die(run: str) -> None:
            _, make, _ = body_maker(plan["protocol"])
            state = {
                "run": run,
                "turn": theatre.turn,
                "settled": theatre.settled,
                "replies": player.replies,
                "ids": dict(theatre.ids._made),  # noqa: SLF001  (as a source of random ids would go on)
                "bodies": [make(request).decode() for request in player.requests],
            }
            self.left.write_text(json.dumps(state), encoding="utf-8")
            os.kill(os.getpid(), signal.SIGKILL)

        player.dies, player.dies_at = die, plan["until"]
        theatre.ids.begin(plan["number"])
        player.begin()
        await theatre.turns(plan, app, player)

    async def go_on(self) -> str:
        """Play the rest; return the digest of all bodies, or what is wrong."""
        left = json.loads(self.left.read_text(encoding="utf-8"))
        theatre = self.theatre
        app, player = await self._opened()
        theatre.ids.begin(self.plan["number"])
        theatre.ids._made.update(left["ids"])  # noqa: SLF001  (ids go on where they stopped)
        player.begin(len(left["bodies"]) - 1)
        theatre.turn, theatre.settled, player.replies = left["turn"], left["settled"], left["replies"]
        answer = await app.resume(left["run"])
        await theatre.settle(app, player, answer)
        await theatre.turns(self.plan, app, player, theatre.turn + 1)
        bodies, problems = compared(self.plan["protocol"], player.requests)
        await theatre.stack.aclose()
        problems = [*player.problems, *problems]
        return json.dumps(problems) if problems else digest(canonical([*left["bodies"][:-1], *bodies]))

    async def _opened(self) -> Any:
        opened = await self.theatre.open(self.plan)
        assert opened is not None
        return opened


def in_another(relay: Relay, *, killed: bool) -> None:
    """Play one half in a process of its own, which has nothing but what is stored."""
    child = os.fork()
    if not child:
        try:
            if killed:
                asyncio.run(relay.kill())
            else:
                print(asyncio.run(relay.go_on()), flush=True)
        except BaseException:  # noqa: BLE001  (the process ends here, whatever it was)
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    ended = os.waitstatus_to_exitcode(status)
    if ended != (-signal.SIGKILL if killed else 0):
        raise SystemExit(f"plan {relay.plan['number']}: ended with {ended}")


def main(folder: str, half: str) -> None:
    """Play a half of each plan."""
    for line in sys.stdin.read().splitlines():
        in_another(Relay(Path(folder), json.loads(line)), killed=half == "kill")


if __name__ == "__main__":
    main(*sys.argv[1:])
