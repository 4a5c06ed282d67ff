"""Where a conversation's plan stands."""

from __future__ import annotations

from attrs import frozen

from wakeful.types import Json, Run

#: Namespace of the plugin state, which is the plugin's name, and its one key.
NAMESPACE, KEY = "plan", "plan"

NONE, AWAITING, APPROVED = "none", "awaiting", "approved"


@frozen
class Planned:
    """A plan and whether a person has approved it.

    Args:
        status: ``none``, ``awaiting`` or ``approved``.
        text: the plan.
        by: who approved it; empty if the approvals plugin knows.
    """

    status: str = NONE
    text: str = ""
    by: str = ""

    def dump(self) -> Json:
        """Return what the store keeps."""
        return {"status": self.status, "text": self.text, "by": self.by}

    @classmethod
    def load(cls, value: Json) -> Planned:
        """Return what :meth:`dump` wrote; nothing is no plan."""
        return cls(**value) if value else cls()


def planned(run: Run) -> Planned:
    """Return where the plan of a run's conversation stands."""
    return Planned.load(run.state.get(NAMESPACE, {}).get(KEY))
