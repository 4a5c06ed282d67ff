"""A PostgreSQL server of its own, restarted while many conversations are under way.

    python -m tests.durability.restarts [--conversations 20] [--restarts 3]

Prints what was found as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from attrs import frozen

from tests.durability.arena import (
    DWELL_S,
    Found,
    Repeats,
    World,
    failed,
    paid_twice,
    running,
    sound,
    statuses,
)
from tests.durability.children import serve
from tests.durability.databases import OnPostgresql
from tests.durability.ports import free_port
from tests.durability.world import Effects
from wakeful import App
from wakeful.types import StoreError

#: Where Debian keeps the server's programs, one folder for each version.
PROGRAMS = Path("/usr/lib/postgresql")
#: The server refuses to run as root; Debian's package makes this user.
USER = "postgres"


def programs() -> Path | None:
    """Return the folder of the newest server that is installed, or None."""
    found = [folder for folder in PROGRAMS.glob("*/bin") if (folder / "initdb").exists()]
    return max(found, key=lambda folder: int(folder.parent.name), default=None)


@frozen
class Server:
    """A cluster in a folder, which listens on the loopback interface only."""

    programs: Path
    home: Path
    port: int

    @property
    def url(self) -> str:
        """The address of its first database."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"

    def make(self) -> None:
        """Make the cluster."""
        self._run("initdb", "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c fsync=off"
        options += f" -c unix_socket_directories='{self.home}'"
        self._run("pg_ctl", "-w", "-l", str(self.home / "log"), "-o", options, "start")

    def stop(self, mode: str) -> None:
        """Stop it; ``fast`` ends every connection, ``immediate`` is a crash."""
        self._run("pg_ctl", "-w", "-m", mode, "stop")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), "-D", str(self.home / "data"), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", USER, "--", *command]
        subprocess.run(command, check=True, cwd=self.home, stdout=subprocess.DEVNULL)


@contextmanager
def server(where: Path) -> Iterator[Server]:
    """Give a running server that is gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="wakeful-postgresql-"))
    if os.geteuid() == 0:
        shutil.chown(home, USER)
    made = Server(where, home, free_port())
    try:
        made.make()
        made.start()
        try:
            yield made
        finally:
            made.stop("immediate")
    finally:
        shutil.rmtree(home)


def restarts(server: Server, effects: Effects, conversations: int, count: int, seed: int = 4) -> Found:
    """Restart the server ``count`` times, every other time by a crash, while conversations are under way."""
    rng, told = Random(seed), Counter[str]()  # noqa: S311  (moments are drawn)
    model = Repeats((("dwell", {}), ("pay", {"euros": 1})), times=4)
    world = World(OnPostgresql(server.url).make("restarts"), effects)

    async def send(app: App) -> list[str]:
        turns = (app.send("agent", "Go", conversation=f"c{number}") for number in range(conversations))
        answers = await asyncio.gather(*turns, return_exceptions=True)
        wrong = [a for a in answers if isinstance(a, BaseException) and not isinstance(a, StoreError)]
        if wrong:
            raise wrong[0]
        return ["an error" if isinstance(answer, StoreError) else "an answer" for answer in answers]

    problems = list[str]()
    for number in range(count):
        sender = world.process(send, model, seconds=DWELL_S)
        world.until(running)
        time.sleep(0.2 + rng.random() * 0.5)
        server.stop("immediate" if number % 2 else "fast")
        server.start()
        ended = sender.ended()
        problems += failed("the process that lost the server", ended)
        told.update(ended.value if ended.how == "ok" else [])
        problems += failed("the process after it", world.process(serve, model).ended())
    problems += world.read(sound)
    if world.read(statuses) != {"completed": conversations * count}:
        problems.append(f"runs are {world.read(statuses)}")
    problems += paid_twice(world)
    return {"problems": problems, "restarts": count, "turns": conversations * count, "callers got": told}


def main() -> None:
    """Read the arguments and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=20)
    parser.add_argument("--restarts", type=int, default=3)
    options = parser.parse_args()
    where = programs()
    if where is None:
        raise SystemExit(f"no PostgreSQL server is installed under {PROGRAMS}")
    with tempfile.TemporaryDirectory() as folder, server(where) as made:
        effects = Effects(Path(folder) / "effects")
        print(json.dumps(restarts(made, effects, options.conversations, options.restarts), indent=1))


if __name__ == "__main__":
    main()
