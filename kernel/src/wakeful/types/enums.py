"""The closed vocabularies of wakeful. Integer enums are ordered: combine them with ``max``."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Effect(StrEnum):
    """What running an action does to the world; an action that says nothing is ``EXTERNAL``."""

    READ = "read"
    """Changes nothing and stays inside the owner's systems."""
    FETCH = "fetch"
    """Reads outside, and so can carry data out: web search, page fetch, navigation."""
    WRITE = "write"
    """Changes state inside the owner's own systems and can be undone."""
    EXTERNAL = "external"
    """Leaves the owner's systems or cannot be undone: mail, payment, access grant, delete."""


class Trust(IntEnum):
    """How far a text may be believed. Trust only falls: combine with ``max``."""

    TRUSTED = 0
    SEMI_TRUSTED = 1
    UNTRUSTED = 2

    @property
    def label(self) -> str:
        """The spelling used in files and envelopes, e.g. ``semi_trusted``."""
        return self.name.lower()


class Verdict(IntEnum):
    """What may happen to a proposed call, from mild to strict; the strictest answer wins."""

    ALLOW = 0
    AUTO_REVIEW = 1
    STAGE = 2
    REQUIRE_APPROVAL = 3
    DEFER = 4
    DENY = 5


class Phase(IntEnum):
    """Where a result stage runs. Stages of one phase run in the order of their names."""

    NORMALISE = 10
    BOUND = 20
    RECOVER = 30


class Disposition(StrEnum):
    """What a channel does with an answer."""

    NOTIFY_USER = "notify_user"
    SILENT_LOG = "silent_log"
    REACT_ONLY = "react_only"


class RunStatus(StrEnum):
    """The life of a run. Everything but ``RUNNING`` and the two ``AWAITING_*`` is final."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LIMIT_REACHED = "limit_reached"
    AWAITING_APPROVAL = "awaiting_approval"
    AWAITING_FEEDBACK = "awaiting_feedback"

    @property
    def parked(self) -> bool:
        """Whether the run waits for a person and can be resumed."""
        return self in {RunStatus.AWAITING_APPROVAL, RunStatus.AWAITING_FEEDBACK}

    @property
    def ended(self) -> bool:
        """Whether nothing happens in the run any more."""
        return self is not RunStatus.RUNNING and not self.parked


class Stop(StrEnum):
    """Why a model ended its reply."""

    END = "end"
    CALLS = "calls"
    LENGTH = "length"
    """The output limit cut the reply; a call in it is never executed."""
    REFUSED = "refused"
    PAUSE = "pause"


class RowKind(StrEnum):
    """What a transcript row is. Only ``USER`` and ``STEER`` rows are a person's own words."""

    USER = "user"
    INBOUND = "inbound"
    STEER = "steer"
    ASSISTANT = "assistant"
    RESULT = "result"
    LATE_RESULT = "late-result"
    """The outcome of an approved call, which already had its result when the person decided."""
    STATE = "state"
    """Runtime state that was sent; part of the request history only."""
    SUMMARY = "summary"
    NOTE = "note"
    """The kernel's own wording to the model, e.g. after a reply that was cut."""
