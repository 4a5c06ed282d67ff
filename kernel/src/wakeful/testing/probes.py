"""Programs that look at a plugin from a process of its own. Run as ``python -m wakeful.testing.probes``.

What a probe has to say is one line of JSON in the file named by its last argument: whatever appears on the
standard streams was printed by the plugin.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

#: Events of Python's audit hooks that an import has no business with, beside ``open``.
FORBIDDEN = (
    "socket.",
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.putenv",
    "_thread.start_new_thread",
    "sqlite3.connect",
    "urllib.Request",
)
#: Flags of ``open`` that write.
WRITES = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
#: Seconds a probe may take; a plugin that hangs must not hang the tests.
TIMEOUT = 60.0


def probe(name: str, *arguments: Any, env: Mapping[str, str] | None = None) -> tuple[Any, str]:
    """Run a probe in another process.

    Args:
        name: a function of this module.
        arguments: what it is given, as JSON.
        env: added to the environment.

    Returns:
        What the probe found, and what was printed meanwhile.

    Raises:
        AssertionError: the process failed; holds the end of what it printed.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-W", "error", "-m", "wakeful.testing.probes", name]
        command += [*(json.dumps(argument) for argument in arguments), str(report)]
        path = os.pathsep.join(dict.fromkeys(str(Path(entry).absolute()) for entry in sys.path))
        clean = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
        done = subprocess.run(  # noqa: S603  (this interpreter, this module)
            command,
            cwd=folder,
            env={**os.environ, **clean},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        printed = (done.stdout + done.stderr).strip()
        if done.returncode != 0 or not report.exists():
            raise AssertionError(f"it failed in a process of its own:\n{printed[-2000:]}")
        return json.loads(report.read_text(encoding="utf-8")), printed


def imported(module: str) -> list[str]:
    """Import a module and return what it did beside being imported."""
    from wakeful import hookspecs, types  # noqa: F401  (what every plugin starts from)

    seen: list[str] = []
    watching = True
    roots = tuple(str(Path(entry).resolve()) for entry in (*sys.path, sys.prefix, sys.base_prefix) if entry)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if not watching:
            return
        if event == "open":
            path, mode, flags = args
            wrote = _writes(mode, flags)
            if wrote or not _inside(path, roots):
                seen.append(f"opened {path} to {'write' if wrote else 'read'}")
        elif event.startswith(FORBIDDEN):
            seen.append(f"{event} {' '.join(str(arg)[:80] for arg in args)}".strip())

    start = threading.Thread.start

    def started(thread: threading.Thread) -> None:  # there is no audit event for threads before Python 3.12
        seen.append(f"started the thread {thread.name!r}")
        start(thread)

    sys.addaudithook(hook)
    vars(threading)["Thread"].start = started  # this process does nothing but look at the import
    importlib.import_module(module)
    vars(threading)["Thread"].start = start
    watching = False
    return seen


def _writes(mode: Any, flags: Any) -> bool:
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & WRITES)


def _inside(path: Any, roots: Sequence[str]) -> bool:
    if isinstance(path, int):
        return True
    resolved = str(Path(os.fsdecode(path)).resolve())
    return any(resolved == root or resolved.startswith(root + os.sep) for root in roots)


def declared(name: str, settings: Mapping[str, Any], folder: str) -> str:
    """Return everything a plugin declares, as canonical JSON."""
    from wakeful.testing.subjects import declarations

    return asyncio.run(declarations([name], {name: settings}, Path(folder)))


def left_out(file: str, agent: str, package: str) -> dict[str, Any]:
    """Run a turn of an agent of a file; return what was sent, and whether ``package`` was imported."""
    from wakeful.testing.turns import run_turn

    result = run_turn(file, "Hello", agent=agent, replies=["Hi."])
    return {
        "sent": [request.canonical() for request in result.requests],
        "rows": [[row.seq, row.kind, row.text, dict(row.meta)] for row in result.rows],
        "answer": [result.answer.status, result.answer.text],
        "imported": sorted(each for each in sys.modules if each == package or each.startswith(f"{package}.")),
    }


PROBES: dict[str, Callable[..., Any]] = {"imported": imported, "declared": declared, "left_out": left_out}


def main(arguments: Sequence[str]) -> None:
    """Run the probe that the arguments name and write its report."""
    name, *given, report = arguments
    found = PROBES[name](*(json.loads(argument) for argument in given))
    Path(report).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
