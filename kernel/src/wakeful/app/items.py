"""The work items of runs by name, and the answer of a run that never began."""

from __future__ import annotations

from wakeful.types import Answer, RunStatus


def item_of(run_id: str) -> str:
    """Return the id of the work item that starts a run."""
    return f"run:{run_id}"


def cancelling(run_id: str) -> str:
    """Return the id of the work item that ends a run as cancelled, should nobody be executing it.

    That such an item exists is also the record that the run was cancelled: whoever takes it up ends it.
    """
    return f"cancel:{run_id}"


def withdrawn(run_id: str, conversation: str) -> Answer:
    """Return the answer of a run that was cancelled before it began; it leaves no record."""
    return Answer("The run was cancelled before it began.", RunStatus.CANCELLED, run_id, conversation)
