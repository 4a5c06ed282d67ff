"""What stores and settles the requests that wait for people. Anything with these methods will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from wakeful.types.actions import Invocation, Judgement
from wakeful.types.approvals import ApprovalRequest
from wakeful.types.json import Json
from wakeful.types.run import Run, Tx


class Approvals(Protocol):
    """Stores and settles the requests that wait for a person."""

    async def ask(self, tx: Tx, run: Run, inv: Invocation, judgement: Judgement) -> ApprovalRequest:
        """Store a request in the transaction that plans the step."""
        ...

    async def pending(self, run_id: str) -> Sequence[ApprovalRequest]:
        """Return the undecided requests of a run, oldest first; of all runs for an empty id."""
        ...

    async def settle(
        self, tx: Tx, request_id: str, *, yes: bool, by: str, args: Json = None
    ) -> ApprovalRequest | None:
        """Decide once. Returns the request with its new status, or None if it was not to be had.

        What it has written before it returns None is kept, such as a record of the attempt.
        """
        ...


@runtime_checkable
class Answers(Approvals, Protocol):
    """Approvals that also take answers to questions, and let requests expire."""

    async def unknown(self, tx: Tx, run: Run, inv: Invocation) -> ApprovalRequest:
        """Ask whether an interrupted call took effect, in the transaction that stores that nobody knows."""
        ...

    async def answer(self, tx: Tx, request_id: str, *, by: str, answer: Json) -> ApprovalRequest | None:
        """Answer a question once; None if it was not to be had, or is none. Never an approval."""
        ...

    async def expire(self, tx: Tx, request_id: str) -> ApprovalRequest | None:
        """End a request whose time is over; None if it is decided, or its time is not over."""
        ...


@runtime_checkable
class Voids(Approvals, Protocol):
    """Approvals whose requests go with their runs."""

    async def void(self, tx: Tx, request_id: str) -> ApprovalRequest | None:
        """End an undecided request whose run has ended without it; None if it is not to be had."""
        ...


@runtime_checkable
class KeepsRules(Approvals, Protocol):
    """Approvals that also keep rules which people add with their decisions."""

    async def settle(
        self, tx: Tx, request_id: str, *, yes: bool, by: str, args: Json = None, rule: Json = None
    ) -> ApprovalRequest | None:
        """Decide once, and keep a rule about later calls of the same action.

        Raises:
            ConfigError: the rule is none; nothing is decided.
        """
        ...

    async def rules(self) -> Sequence[Json]:
        """Return the rules of the agent that were added, oldest first; the same object while they are."""
        ...


@runtime_checkable
class Notices(Approvals, Protocol):
    """Approvals that also remember what each channel has told people."""

    async def news(self, channel: str) -> Sequence[ApprovalRequest]:
        """Return what a channel has yet to tell, oldest first.

        That is each undecided request that it has not told of, and each one that it has told of and that is
        settled since.
        """
        ...

    async def told(self, tx: Tx, channel: str, request: ApprovalRequest) -> None:
        """Store that a channel has told people of a request as it stands."""
        ...
