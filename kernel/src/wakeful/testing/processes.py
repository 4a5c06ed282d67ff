"""Processes that a test has started, so that it can see that none is left behind. Linux."""

from __future__ import annotations

import os
from pathlib import Path


def children() -> set[int]:
    """Return the ids of the processes that this one has started and that live."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if int(fields[1]) == os.getpid() and fields[0] != "Z":
            found.add(int(stat.parent.name))
    return found
