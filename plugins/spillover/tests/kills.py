"""Kill a turn that stores artifacts, at one point after another, and look at what is left.

A program of its own, run by the test beside it: ``python kills.py FOLDER HOW_MANY``. Every turn runs in a
child that kills itself; prints how many points there are, and one JSON line for each.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy.engine.default import DefaultDialect

import wakeful
from wakeful import ActionResult, Agent, action
from wakeful.store.contents import sweep
from wakeful.store.maintain import upgrade
from wakeful.system import SystemClock
from wakeful.testing import ScriptedModel, say
from wakeful_spillover.tables import LINEAGE

#: What touches files, as Python's audit events name it.
EVENTS = {"open", "os.rename", "os.remove", "os.utime", "os.mkdir"}
ROWS = [{"id": number, "text": f"row {number} with some words"} for number in range(200)]


@action(effect="read", output_trust="trusted")
def give() -> ActionResult:
    """Give a table that fits into the database, and a text that does not."""
    return ActionResult(outputs={"rows": ROWS, "log": "a line of the log\n" * 5_000})


@action(effect="read", output_trust="trusted")
def more() -> Any:
    """Give a table that is made as it is read."""
    return ({"number": number, "text": "x" * 50} for number in range(2_000))


class Ahead(SystemClock):
    """Time a day later: every lease has ended."""

    def now(self) -> datetime:
        """Return tomorrow."""
        return datetime.now(UTC) + timedelta(days=1)


def agent(folder: Path) -> Agent:
    """Return the agent; both calls are in one step."""
    replies: list[Any] = [say(calls=["give", "more"]), "See [A], [B] and [C]."]
    actions = [give, more]
    store = f"sqlite:///{folder}/wakeful.db"
    return Agent(
        model=ScriptedModel(replies), actions=actions, plugins=["spillover"], store=store, folder=folder
    )


async def turn(folder: Path, begun: Callable[[], None]) -> None:
    """Run the turn that is killed."""
    async with wakeful.open(agent(folder)) as app:
        begun()
        await app.send("agent", "Go", conversation="one")


def killed(folder: Path, point: int) -> int:
    """Run the turn and be killed at a point; return how many points there were if it was not."""
    passed = 0
    watching = False

    def passes() -> None:
        nonlocal passed
        passed += watching
        if watching and passed == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def begin() -> None:
        nonlocal watching
        watching = True

    def heard(event: str, _: object) -> None:
        if event in EVENTS:
            passes()

    sys.addaudithook(heard)
    for name in ("do_execute", "do_commit"):
        _around(name, passes)
    asyncio.run(turn(folder, begin))
    return passed


def _around(name: str, passes: Callable[[], None]) -> None:
    real: Any = getattr(DefaultDialect, name)

    def counted(*details: Any) -> Any:
        passes()
        made = real(*details)
        passes()
        return made

    setattr(DefaultDialect, name, counted)


def problems(folder: Path) -> list[str]:
    """Return what is wrong with artifacts and contents as they are in the database and on the disk."""
    found: list[str] = []
    files = {path.name: path for path in (folder / "wakeful.db.files").glob("??/??/*")}
    with closing(sqlite3.connect(folder / "wakeful.db")) as db:
        kept = {ref for (ref,) in db.execute("select ref from content")}
        for number, content, ref in db.execute("select number, content, ref from spillover_artifact"):
            if content is None and (ref not in files or ref not in kept):
                found.append(f"artifact {number} has no content")
        shown = [json.loads(meta) for (meta,) in db.execute("select meta from message")]
        handles = {each["handle"] for meta in shown for each in meta.get("artifacts", ())}
        stored = {
            chr(ord("A") + number - 1) for (number,) in db.execute("select number from spillover_artifact")
        }
        found += [f"[{handle}] is shown and does not exist" for handle in sorted(handles - stored)]
        found += [f"[{handle}] exists and is not shown" for handle in sorted(stored - handles)]
    for ref in kept - set(files):
        found.append(f"content {ref[:8]} is kept and not there")
    for name, path in files.items():
        if hashlib.sha256(path.read_bytes()).hexdigest() != name.partition(".")[0] and "." not in name:
            found.append(f"content {name[:8]} is damaged")
    return found


async def looked(folder: Path) -> list[str]:
    """Return what is wrong after the kill, after cleaning up, and after the run went on."""
    found = problems(folder)
    async with wakeful.open(agent(folder), clock=Ahead()) as app:
        with closing(sqlite3.connect(folder / "wakeful.db")) as db:
            runs = [run for (run,) in db.execute("select id from run")]
        for run in runs:
            answer = await app.resume(run)
            if answer.status != "completed" or answer.artifacts != ("A", "B", "C"):
                found.append(f"the run ended as {answer.status}: {answer.error or answer.artifacts}")
        await sweep(app.store, grace_s=0)
        found += problems(folder)
        with closing(sqlite3.connect(folder / "wakeful.db")) as db:
            kept = {ref for (ref,) in db.execute("select ref from content")}
        left = [path for path in (folder / "wakeful.db.files").rglob("*") if path.is_file()]
        found += [f"{path.name} is nobody's" for path in left if path.name.partition(".")[0] not in kept]
        if runs and not await app.forget("one"):
            found.append("the conversation could not be forgotten")
        left = [path for path in (folder / "wakeful.db.files").rglob("*") if path.is_file()]
        found += [f"{path.name} was not forgotten" for path in left if runs]
    return found


def child(work: Callable[[], Any]) -> tuple[int, Any]:
    """Run something in a child; return how it ended and what it gave."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(writing, json.dumps(work()).encode())
            os._exit(0)
        except BaseException as error:  # noqa: BLE001  # a child must end here
            os.write(writing, json.dumps(f"{type(error).__name__}: {error}").encode())
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    return os.waitpid(pid, 0)[1], json.loads(text) if text else None


def say_line(value: Any) -> None:
    """Print a line for the test."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Try as many points as were asked for, spread evenly."""
    folder, wanted = Path(sys.argv[1]), int(sys.argv[2])
    template = folder / "template.db"
    upgrade(f"sqlite:///{template}", [LINEAGE])

    def fresh(name: str) -> Path:
        made = folder / name
        made.mkdir()
        shutil.copyfile(template, made / "wakeful.db")
        return made

    whole = fresh("whole")
    status, points = child(lambda: killed(whole, 0))
    say_line({"status": status, "points": points})
    if status:
        return
    step = max(1, points // wanted)
    for point in range(1, points + 1, step):
        there = fresh(f"at-{point}")
        status, _ = child(lambda there=there, point=point: killed(there, point))  # type: ignore[misc]  # bound now
        ended, found = child(lambda there=there: asyncio.run(looked(there)))  # type: ignore[misc]  # (same)
        said = found if isinstance(found, list) and not ended else [f"looking failed: {found}"]
        say_line({"point": point, "killed": status == signal.SIGKILL, "problems": said})
        shutil.rmtree(there)


if __name__ == "__main__":
    main()
