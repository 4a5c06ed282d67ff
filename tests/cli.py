"""Run the command line as users do: in a process of its own, in a folder of the test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

#: Seconds after which a command has failed; a loaded machine is slow.
PATIENCE = 60.0


@frozen
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The document on standard output."""
        return json.loads(self.out)

    @property
    def errors(self) -> list[str]:
        """The lines on standard error that begin with ``error:``, without that word."""
        return [line.removeprefix("error: ") for line in self.err.splitlines() if line.startswith("error: ")]


#: Runs a command line and returns how it ended.
Wakeful = Callable[..., Done]


@define
class Console:
    """A folder in which commands are run, with distributions that exist only there.

    Args:
        folder: where commands run.
        env: variables beside those of the test's own process.
    """

    folder: Path
    env: dict[str, str] = field(factory=dict)

    @property
    def site(self) -> Path:
        """Where distributions are installed."""
        return self.folder / "site"

    def write(self, name: str, text: str) -> Path:
        """Write a file below the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def install(
        self,
        module: str,
        source: str,
        entries: Mapping[str, str],
        *,
        group: str = "wakeful",
        requires: tuple[str, ...] = (),
    ) -> None:
        """Install a distribution: a module and entry points, name to attribute."""
        info = f"site/{module}-1.0.dist-info"
        dist = module.replace("_", "-")
        needs = "".join(f"Requires-Dist: {each}\n" for each in requires)
        self.write(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: {dist}\nVersion: 1.0\nSummary: Brings {module}\n{needs}",
        )
        lines = "".join(f"{name} = {module}:{attribute}\n" for name, attribute in entries.items())
        self.write(f"{info}/entry_points.txt", f"[{group}]\n{lines}")
        self.write(f"site/{module}.py", source)

    def environment(self) -> dict[str, str]:
        """Return the variables that commands see."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("WAKEFUL_")}
        return kept | {"PYTHONPATH": str(self.site), "NO_COLOR": "1"} | self.env

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Start a command with pipes for its streams."""
        return subprocess.Popen(
            [sys.executable, "-m", "wakeful", *args],
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def run(self, *args: str, given: str = "", timeout: float = PATIENCE) -> Done:
        """Run a command to its end."""
        with self.start(*args) as process:
            try:
                out, err = process.communicate(given, timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return Done(process.returncode, out, err)
