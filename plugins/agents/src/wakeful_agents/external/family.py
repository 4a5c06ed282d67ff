"""What a harness has started: processes carry a mark in their environment, wherever they went since.

A program that detaches itself leaves its session and its parent, not its environment. The mark is the id of
the run, so that what a process of the application that was killed has left behind is found as well.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

#: Variable of the environment that holds the id of the run.
MARK: Final = "WAKEFUL_RUN"
#: Where Linux shows processes; elsewhere only a harness's own session ends with it.
PROC: Final = Path("/proc")
#: Rounds of looking and killing; a process may start another one while it is looked for.
ROUNDS: Final = 20


def end_marked(run: str) -> None:
    """Kill every process that carries the mark of a run, but this one."""
    for _ in range(ROUNDS):
        found = marked(run)
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def marked(run: str) -> list[int]:
    """Return the processes that carry the mark of a run and have not ended, but this one."""
    wanted = f"{MARK}={run}".encode()
    pids = [int(entry.name) for entry in PROC.glob("[0-9]*")] if PROC.is_dir() else []
    return [pid for pid in pids if pid != os.getpid() and wanted in _environment(pid)]


def _environment(pid: int) -> list[bytes]:
    """Return the variables a process was started with; none if it is gone, or somebody else's."""
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []
