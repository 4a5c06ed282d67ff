"""How runs end."""

from __future__ import annotations

from attrs import frozen

from wakeful.types import Final, Reply, RunStatus, Stop, Text


@frozen
class Outcome:
    """How a run ends; None as an outcome means that it goes on."""

    status: RunStatus
    text: str = ""
    error: str = ""
    final: Final | None = None

    @classmethod
    def ended_by(cls, final: Final) -> Outcome:
        """Return how a run ends that an action's result ends."""
        return cls(RunStatus.COMPLETED, final.text, final=final)

    @classmethod
    def limited(cls, limit: str) -> Outcome:
        """Return how a run ends that has reached a limit."""
        return cls(RunStatus.LIMIT_REACHED, f"Stopped: {limit} was reached.", error=limit)


#: How a run ends that somebody cancelled.
CANCELLED = Outcome(RunStatus.CANCELLED, "The run was cancelled.")
#: How a run ends for now whose decisions nobody can carry out here.
STRANDED = Outcome(
    RunStatus.COMPLETED,
    error="a person has decided; it is carried out once a plugin that stores approvals is on again",
)


def text_of(reply: Reply) -> str:
    """Return what a reply says."""
    return "\n\n".join(item.text for item in reply.items if isinstance(item, Text))


def answered_by(reply: Reply) -> Outcome:
    """Return how a run ends whose answer is a reply without calls."""
    text = text_of(reply)
    if reply.stop is Stop.REFUSED:
        return Outcome(RunStatus.FAILED, text, error="refused: the model refused to answer")
    cut = "the output limit cut the answer" if reply.stop is Stop.LENGTH else ""
    return Outcome(RunStatus.COMPLETED, text, error=cut)
