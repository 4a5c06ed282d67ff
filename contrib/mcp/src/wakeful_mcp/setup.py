"""How a server is reached: values that two agents may share, with everything resolved."""

from __future__ import annotations

import os
from pathlib import Path

from attrs import field, frozen

from wakeful_mcp.settings import ServerSettings

#: Variables that a program needs to run at all. No others are passed on: they hold other people's secrets.
INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")


@frozen
class Setup:
    """How a server is reached; agents with the same setup share one connection.

    Args:
        name: of the server.
        command, args, env, cwd: of a program.
        url, headers: of an address.
        start_s, timeout_s, max_bytes: as in the settings.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    cwd: Path = Path()
    url: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    start_s: float = 30.0
    timeout_s: float = 60.0
    max_bytes: int = 10_000_000

    @property
    def kind(self) -> str:
        """``stdio`` or ``http``."""
        return "stdio" if self.command else "http"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that are not for logs: those of headers and of the environment, whole and word by word."""
        values = [value for _, value in (*self.headers, *self.env)]
        return tuple(sorted({word for value in values for word in (value, *value.split())}))

    def environment(self) -> dict[str, str]:
        """Return the whole environment of the program."""
        return {name: os.environ[name] for name in INHERITED if name in os.environ} | dict(self.env)


def setup_of(name: str, settings: ServerSettings, folder: Path) -> Setup:
    """Return the setup of a server.

    Args:
        name: of the server.
        settings: of it.
        folder: where relative paths begin.
    """
    cwd = (folder / Path(settings.cwd).expanduser()).absolute()
    command = settings.command
    if os.sep in command:
        command = str((cwd / Path(command).expanduser()).absolute())
    return Setup(
        name=name,
        command=command,
        args=tuple(settings.args),
        env=tuple(sorted(settings.env.items())),
        cwd=cwd,
        url=settings.url,
        headers=tuple(sorted(settings.headers.items())),
        start_s=settings.start_s,
        timeout_s=settings.timeout_s,
        max_bytes=settings.max_bytes,
    )
