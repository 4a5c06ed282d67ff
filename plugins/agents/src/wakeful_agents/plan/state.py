"""Where a conversation's plan stands."""

from __future__ import annotations

from attrs import frozen

from wakeful.types import Json, Run, digest

#: Namespace of the plugin state, which is the plugin's name, and its one key.
NAMESPACE, KEY = "plan", "plan"

#: Characters of a plan's fingerprint: short enough to be typed, long enough to tell plans apart.
FINGERPRINT_CHARS = 12
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

    @property
    def fingerprint(self) -> str:
        """What tells its text from any other; empty of no plan."""
        return digest(self.text)[:FINGERPRINT_CHARS] if self.text else ""

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
