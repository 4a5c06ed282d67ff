"""What plugins are handed: the agent with its services, the run as an immutable view, the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from attrs import field, frozen

from wakeful.types.actions import Action
from wakeful.types.agent import AgentView, Limits
from wakeful.types.artifacts import Files, Medium
from wakeful.types.enums import Disposition, RowKind, RunStatus, Trust
from wakeful.types.json import Json
from wakeful.types.prompt import Epoch, Fragment, Kept, Reply, Sent, Usage
from wakeful.types.transcript import Row
from wakeful.types.view import Rewrites

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from sqlalchemy import Executable


class Clock(Protocol):
    """Where time comes from; tests inject their own, so nothing ever sleeps for real."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait that long on this clock."""
        ...


class IdSource(Protocol):
    """Where identity and randomness come from."""

    def new(self, prefix: str) -> str:
        """Return a new id, e.g. ``run-01j…``; ids of one source sort in the order they were made."""
        ...

    def secret(self) -> str:
        """Return 32 hexadecimal characters that nobody can guess."""
        ...


class Services(Protocol):
    """What the kernel does for one plugin of one agent. Behaviour lives here, not on the run."""

    clock: Clock
    ids: IdSource
    folder: Path
    """Where relative paths of the agent resolve: the folder of its file, else the current one."""

    @property
    def files(self) -> Files:
        """Return where large contents are."""
        ...

    async def read(self, statement: Executable) -> Sequence[Any]:
        """Run a SELECT on the store and return its rows."""
        ...

    async def ask(self, run: Run, kind: str, text: str, *, alone: bool = False) -> Reply:
        """Ask the run's model with its stable prefix plus one trailing text; journalled as ``kind``.

        With ``alone`` the text is all that is asked: no prefix, no tools, no history. Such questions go to
        the agent's ``side_model``, if it names one.
        """
        ...

    async def save(self, run: Run, values: Mapping[str, Json]) -> None:
        """Store values in this plugin's own namespace of the conversation, at once."""
        ...

    def catalogue(self, run: Run) -> Mapping[str, Action]:
        """Return every action this run may call, by tool name."""
        ...

    def report(self, message: str) -> None:
        """Tell the operator (log and event stream) about something that did not break the run."""
        ...


class Tx(Protocol):
    """The step's closing transaction, for result stages."""

    async def exec(self, statement: Executable) -> int:
        """Run a statement and return how many rows it touched."""
        ...

    async def all(self, statement: Executable) -> Sequence[Any]:
        """Run a statement and return its rows."""
        ...

    def savepoint(self) -> AbstractAsyncContextManager[None]:
        """Undo what the block wrote, and only that, when it raises; one at a time, and each stage has one."""
        ...


@frozen
class Outcome:
    """How one call of a run ended. Calls that wait for a person, or were cancelled, have none.

    Args:
        key: of its invocation; one that answers part of a call ends in its place within the call.
        action: tool name of the action, or what was called if there is none.
        args: canonical JSON of the arguments.
        success: whether it did what was asked.
        code: the result's code.
        retryable: whether the result said that the same call may succeed later; None = it did not say.
        executed: False for a call that was refused or denied.
    """

    key: str
    action: str
    args: str
    success: bool
    code: str
    retryable: bool | None = None
    executed: bool = True


@frozen
class Run:
    """One execution of an agent for one turn, as an immutable view. Only the loop makes new ones.

    Args:
        id: e.g. ``run-…``.
        agent: the agent.
        conversation: id of the conversation.
        user: the authenticated user, or empty.
        turn: number of the turn in the conversation, from 1.
        step: number of the step in the run, from 1; 0 before the first.
        now: when this view was made (UTC).
        secret: the conversation's secret, for keyed hashes.
        status: see :class:`RunStatus`.
        epoch: the prefix in force.
        rows: the transcript so far.
        context: fragments retrieved at turn start.
        kept, previous: for layouts, see :class:`Draft`.
        state: plugin name to what it saved for this conversation.
        outcomes: how the calls of its closed steps ended, in call order.
        within: tool name to how often it ran inside other calls, e.g. of a loop; those have no outcome here.
        rewrites: what is sent otherwise than it is stored; see :class:`Rewrites`.
        options: plugin name to what the caller set for this run alone.
        parent: id of the run that this one is a sub-agent's run of; empty for a run of its own.
        given_words: for a sub-agent's run: the user's own words in the turn that it belongs to.
        beneath: key, tool name and canonical arguments of the calls that the conversation's sub-agents had
            made or begun when the run was opened or taken up, and of those inside of other calls.
        usage: what the run has used so far.
        tokens_per_char: tokens that a character of a request is, for estimates: at first a quarter, the usual
            rule of thumb for English; after a reply whose usage was reported, what it was in that request.
        limits: what it may use.
        fence: owner and attempt; a stalled process with an older fence cannot write.
        priority: ``interactive``, ``background_routine`` or ``system_batch``.
        rules: what people have added to the agent's rules with their decisions, for judges; None = the plugin
            that keeps it failed to say.
    """

    id: str
    agent: AgentView
    conversation: str
    user: str
    turn: int
    step: int
    now: datetime
    secret: str = field(repr=False)
    status: RunStatus
    epoch: Epoch = field(repr=False)
    rows: tuple[Row, ...] = field(repr=False, default=())
    context: tuple[Fragment, ...] = field(repr=False, default=())
    kept: tuple[Kept, ...] = field(repr=False, default=())
    previous: Sent | None = field(repr=False, default=None)
    state: Mapping[str, Mapping[str, Json]] = field(repr=False, factory=dict)
    outcomes: tuple[Outcome, ...] = field(repr=False, default=())
    within: Mapping[str, int] = field(repr=False, factory=dict)
    rewrites: Rewrites = Rewrites()
    options: Mapping[str, Mapping[str, Json]] = field(repr=False, factory=dict)
    parent: str = ""
    given_words: str = field(repr=False, default="")
    beneath: tuple[tuple[str, str, str], ...] = field(repr=False, default=())
    usage: Usage = Usage()
    tokens_per_char: float = 0.25
    limits: Limits = Limits()
    fence: int = 0
    priority: str = "interactive"
    rules: Sequence[Json] | None = field(repr=False, default=())

    def estimate(self, text: str) -> int:
        """Return about how many tokens a text is for the run's model, rounded up."""
        return ceil(len(text) * self.tokens_per_char)

    @property
    def done(self) -> tuple[tuple[str, str, bool], ...]:
        """(tool name, canonical arguments, success) of each finished execution of this run."""
        return tuple((each.action, each.args, each.success) for each in self.outcomes if each.executed)

    @property
    def user_words(self) -> str:
        """The user's own words in this turn: the input and steering messages, joined by newlines."""
        own = {RowKind.USER, RowKind.STEER}
        words = [row.text for row in self.rows if row.kind in own and row.turn == self.turn]
        return "\n".join(filter(None, (self.given_words, *words)))

    @property
    def taint(self) -> Trust:
        """The worst trust of any row in view; rows that a person left out are not."""
        drops = self.rewrites.drops
        return max((row.trust for row in self.rows if not drops(row.seq)), default=Trust.TRUSTED)


@frozen
class Answer:
    """The end of a turn.

    Args:
        text: what to show.
        status: see :class:`RunStatus`.
        run_id: the run that gave it.
        conversation: the conversation it belongs to.
        disposition: what channels do with it.
        reaction: the reaction for ``react_only``, or None.
        usage: what the run used.
        artifacts: handles of the artifacts the answer names.
        media: the media that it names.
        pending: ids of requests that wait for a person.
        error: what went wrong, for a failed run.
    """

    text: str
    status: RunStatus
    run_id: str
    conversation: str
    disposition: Disposition = Disposition.NOTIFY_USER
    reaction: str | None = None
    usage: Usage = Usage()
    artifacts: tuple[str, ...] = ()
    media: tuple[Medium, ...] = ()
    pending: tuple[str, ...] = ()
    error: str = ""
