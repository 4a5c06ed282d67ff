"""What waits for a person."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from wakeful.types.json import Json


@frozen
class ApprovalRequest:
    """Something that waits for a person.

    Args:
        id: of the request.
        key: of the call that it is about.
        run: id of the run of the call.
        action: tool name of what the call executes.
        args: its arguments; after an approval those that the person gave.
        digest: sha256 over the canonical arguments.
        status: ``pending``, ``approved``, ``rejected``, ``answered``, ``expired``, or ``void``: its run has
            ended without it.
        kind: ``approval``; ``draft`` (from ``STAGE``), which blocks nothing and outlives its run;
            ``question``; or ``outcome``: somebody is to say whether an interrupted call took effect.
        expires: when it is void, if it is then undecided.
        agent, conversation, step: whose call it is, and where; requests of one step are one card.
        asker: the user whose run it is; may be empty.
        people: who may settle it.
        expected: JSON schema of the response.
        card: what people are shown: the arguments themselves, where each came from, and why they are asked.
        decided_by: who settled it; empty if nobody has.
        took_effect: of an ``outcome``: what the person said; None if nobody has.
    """

    id: str
    key: str
    run: str
    action: str
    args: Json
    digest: str
    status: str = "pending"
    kind: str = "approval"
    expires: datetime | None = None
    agent: str = ""
    conversation: str = ""
    step: int = 0
    asker: str = ""
    people: tuple[str, ...] = ()
    expected: Json = None
    card: str = ""
    decided_by: str = ""
    took_effect: bool | None = None

    @property
    def holds(self) -> bool:
        """Whether its run waits for the decision."""
        return self.kind in {"approval", "question"}

    @property
    def of_call(self) -> bool:
        """Whether a call is carried out, or not, by the decision."""
        return self.kind != "outcome"
