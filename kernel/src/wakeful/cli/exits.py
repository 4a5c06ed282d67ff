"""Every exit code of the command line, in one place.

An error of wakeful carries its code (``WakefulError.exit_code``); the other codes are given here. With
``--json`` the same code ends the command, and the error is in the document.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wakeful.types.enums import RunStatus

#: Kinds of a failed model call that mean that the model could not be used at all.
UNUSABLE = frozenset(
    {"auth", "network", "overloaded", "permission", "rate_limit", "server", "timeout"},
)


class Exit(IntEnum):
    """What a command ended with."""

    OK = 0
    RUN_FAILED = 1
    CONFIGURATION = 2
    STORE = 3
    MODEL = 4
    BUSY = 5
    CANCELLED = 130
    PIPE = 141


MEANING = {
    Exit.OK: "done; a run that waits for a person ends so too",
    Exit.RUN_FAILED: "a run failed or reached a limit, or something unexpected happened",
    Exit.CONFIGURATION: "the configuration, a plugin, an action, a name or the command line is wrong",
    Exit.STORE: "the database cannot be used, or `wakeful db check` found something",
    Exit.MODEL: "the model could not be used: key, rights, limits of use, network or server",
    Exit.BUSY: "another run of the conversation is active in another process",
    Exit.CANCELLED: "the run was cancelled, usually with Ctrl-C",
    Exit.PIPE: "whoever read the output went away",
}


def table() -> str:
    """Return the codes as a markdown table, for the documentation."""
    rows = [f"| {code.value} | {MEANING[code]} |" for code in Exit]
    return "\n".join(["| code | meaning |", "|---|---|", *rows])


def of_run(status: RunStatus, error: str) -> Exit:
    """Return the code for how a run ended.

    Args:
        status: of the run.
        error: of the run; that of a failed model call begins with its kind and a colon.
    """
    from wakeful.types.enums import RunStatus

    if status is RunStatus.CANCELLED:
        return Exit.CANCELLED
    if status is RunStatus.LIMIT_REACHED:
        return Exit.RUN_FAILED
    if status is RunStatus.FAILED:
        return Exit.MODEL if error.partition(":")[0] in UNUSABLE else Exit.RUN_FAILED
    return Exit.OK
