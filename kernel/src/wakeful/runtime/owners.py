"""Names of owners: who holds a lease, told so that a process on the same machine can see that it is dead.

A name is ``<host>/<place>/<pid>/<start>/<nonce>``. ``place`` stands for the running kernel (its boot id) and
the namespaces of pids and of time: only processes of one place see the same pids and the same start times, so
machines, and containers that share a database, judge each other by the lease alone. ``start`` tells a process
from a later one that got its pid. Where there is no ``/proc``, place and start are empty and again only the
lease counts.

A virtual machine that is cloned while it runs takes its boot id along: give clones host names of their own.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from contextlib import suppress
from pathlib import Path

from attrs import frozen

_PROC = Path("/proc")
_BOOT = _PROC / "sys/kernel/random/boot_id"
#: Fields of ``/proc/<pid>/stat`` after the command, which may hold spaces: proc_pid_stat(5) counts from 1,
#: the state is its third.
_STATE, _START = 3 - 3, 22 - 3
#: States of a process that has ended and whose parent has not looked yet.
_ENDED = frozenset("ZXx")


@frozen
class _Seen:
    """What ``/proc`` says of a process."""

    state: str
    start: str


def owner_name() -> str:
    """Return a new name for this process, unique even among those that one process makes."""
    pid, place, start = os.getpid(), "", ""
    here, seen = _place(), _look(pid)
    if here and seen is not None and _own_proc():
        place, start = here, seen.start
    return "/".join((_host(), place, str(pid), start, secrets.token_hex(4)))


def is_dead(owner: str) -> bool:
    """Return whether ``owner`` was a process of this very machine and has certainly ended.

    False means that it lives or that nobody can tell from here.

    Args:
        owner: what :func:`owner_name` returned in that process; any other text is never dead.
    """
    parts = owner.split("/")
    if len(parts) != 5:  # noqa: PLR2004  (as many as owner_name joins)
        return False
    host, place, pid, start, _ = parts
    if not (place and start and pid.isascii() and pid.isdecimal()):
        return False
    if host != _host() or place != _place() or not _own_proc():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass  # another user's process, perhaps; it exists
    seen = _look(int(pid))
    if seen is None:
        return False  # ended this moment, or hidden from this user
    return seen.start != start or seen.state in _ENDED


def _host() -> str:
    return socket.gethostname().replace("/", "-")


def _place() -> str:
    """Return what processes that see the same pids and times have in common; empty where nobody can tell."""
    try:
        boot = _BOOT.read_text("ascii").strip()
        spaces = [str((_PROC / "self/ns/pid").readlink())]
    except OSError:
        return ""
    with suppress(OSError):  # Linux before 5.6 knows no namespaces of time
        spaces.append(str((_PROC / "self/ns/time").readlink()))
    return hashlib.sha256("\n".join((boot, *spaces)).encode()).hexdigest()[:16]


def _own_proc() -> bool:
    """Return whether ``/proc`` shows the pids of this namespace and not those of another."""
    try:
        return (_PROC / "self").readlink().name == str(os.getpid())
    except OSError:
        return False


def _look(pid: int) -> _Seen | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return _Seen(fields[_STATE], fields[_START]) if len(fields) > _START else None
