"""Finding the action that a loop's call names."""

from __future__ import annotations

from collections.abc import Mapping

from wakeful.types import Action, ActionError, near

#: Candidates that an error lists.
LISTED = 5


def resolved(written: str, catalogue: Mapping[str, Action]) -> str:
    """Return the tool name that is meant: exact in any case, else the one name that contains it.

    Raises:
        ActionError: none or several are meant; at most five are listed.
    """
    folded = written.strip().casefold()
    names = {name: {name.casefold(), action.name.casefold()} for name, action in catalogue.items()}
    exact = [name for name, spelled in names.items() if folded in spelled]
    if len(exact) == 1:
        return exact[0]
    within = [name for name, spelled in names.items() if folded and any(folded in each for each in spelled)]
    if len(within) == 1:
        return within[0]
    if within:
        what = f"{written!r} could be {len(within)} actions"
        raise ActionError("AMBIGUOUS_ACTION", what, retryable=True, suggested=sorted(within)[:LISTED])
    what = f"there is no action {written!r}"
    suggested = near(written, sorted(catalogue))[:LISTED]
    raise ActionError("UNKNOWN_ACTION", what, retryable=True, suggested=suggested)
