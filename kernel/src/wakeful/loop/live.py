"""The one thing about a run that changes: which view of it is current, and who listens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field

from wakeful.loop.agent import BuiltAgent
from wakeful.loop.decisions import expiring
from wakeful.loop.journal import Journal
from wakeful.loop.redact import Redactor
from wakeful.loop.tally import Tally
from wakeful.types import (
    Answer,
    ApprovalRequest,
    Clock,
    Event,
    Notice,
    PluginError,
    Priority,
    Row,
    Run,
    Stepped,
    Trust,
    Usage,
    WorkItem,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from wakeful.plugins.hooks import AgentPlugins
    from wakeful.store.engine import Store

#: Tokens per character that a reported usage can mean. Below, a server counts only what it did not cache;
#: above, it adds a prompt of its own that outweighs a short request.
LEAST_RATE, MOST_RATE = 0.02, 2.0

EmitEvent = Callable[[Event], Awaitable[None]]


@define(eq=False)
class Live:
    """A run in progress. Only the loop touches it; plugins see ``run``, which never changes.

    Args:
        agent: the agent as built.
        store, journal, clock: where things are written and what time it is.
        redactor: keeps secrets out of what is written.
        emit: passes events to whoever streams.
        run: the current view.
        began: monotonic seconds at the start of this execution.
        lost: what the last model call used if it gave no reply.
        shown: trust and source of the worst fragment of the last request.
        sent: input tokens of the last request as they were reported, failed tries left out.
        cuts: replies in a row that the output limit cut inside a call.
        notices: what failed without breaking the step.
        within: tool name to how often it began inside other calls of the run.
        parent: the run that delegated, if it is in progress in this process.
        tally: what the run and those below it have used.
        wake: stores a wake-up in a transaction that is under way.
        ended: does in the transaction that stores the end of a run what is due with it.
        ancestors: the runs above as they are stored, if they are not in progress here.
        last: the last step of the run; None if it must be read back from the records first.
        settled: what was due between this run and the one before has been seen to.
        abandoned: the run is given back for another process to finish; nothing more is written here.
    """

    agent: BuiltAgent
    store: Store
    journal: Journal
    clock: Clock
    redactor: Redactor
    emit: EmitEvent
    run: Run
    began: float
    lost: Usage = Usage()
    shown: tuple[Trust, str] = (Trust.TRUSTED, "")
    sent: int = 0
    cuts: int = 0
    notices: list[str] = field(factory=list)
    abandoned: bool = False
    wake: Callable[[Connection, WorkItem], None] | None = None
    parent: Live | None = None
    tally: Tally = field(init=False)
    ended: Callable[[Connection, Answer], None] | None = None
    ancestors: tuple[tuple[AgentPlugins, Run], ...] = ()
    settled: bool = False
    last: Stepped | None = None
    within: Counter[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.within = Counter(self.run.within)
        self.tally = Tally.of(self.run, self.parent.tally if self.parent else None)

    def update(self, **values: Any) -> Run:
        """Make the next view current and return it."""
        self.run = evolve(self.run, now=self.clock.now(), **values)
        return self.run

    def expires(self, conn: Connection, request: ApprovalRequest | None) -> None:
        """Store the wake-up for the moment at which a request is void, in the transaction that stores it."""
        if self.wake is not None and request is not None and request.expires is not None:
            payload = {"request": request.id}
            item = WorkItem(
                expiring(request.id), "expire", request.id, payload, Priority.ROUTINE, request.expires
            )
            self.wake(conn, item)

    def spend(self, usage: Usage) -> None:
        """Count what a model call used."""
        self.update(usage=self.run.usage + usage)
        self.tally.spend(usage)

    def step(self) -> None:
        """Begin the next step."""
        self.update(step=self.run.step + 1)
        self.tally.step()

    def above(self) -> Sequence[tuple[AgentPlugins, Run]]:
        """Return the plugins and the view of each run above, the nearest first."""
        if self.parent is None:
            return self.ancestors
        return ((self.parent.agent.plugins, self.parent.run), *self.parent.above())

    def stands_below(self, run_id: str) -> bool:
        """Whether it is the run of that id, or one below it."""
        return self.run.id == run_id or (self.parent is not None and self.parent.stands_below(run_id))

    def calibrate(self, characters: int, tokens: int) -> None:
        """Learn how many tokens a character is.

        Args:
            characters: length of a canonical request.
            tokens: its input as the provider reported it, failed tries left out.
        """
        rate = tokens / characters if characters else 0.0
        if LEAST_RATE <= rate <= MOST_RATE:
            self.update(tokens_per_char=rate)

    def append(self, rows: tuple[Row, ...]) -> None:
        """Take rows that are stored into the view."""
        self.update(rows=(*self.run.rows, *rows))

    async def note(self, errors: tuple[PluginError, ...]) -> None:
        """Record failures of plugins and tell whoever listens."""
        for error in errors:
            self.notices.append(self.redactor.text(str(error)))
            await self.emit(Notice(error.plugin, self.notices[-1]))

    @property
    def remaining(self) -> float | None:
        """Seconds left of the time limit, its own or one from above; None without one."""
        found = self.left()
        return found[0] if found else None

    @property
    def time_limit(self) -> str:
        """The time limit that ends first, in words, and whose it is."""
        found = self.left()
        nearest = found[1] if found else self
        return f"the limit of {nearest.run.limits.seconds:g} seconds{nearest.tally.whose(self.tally)}"

    def left(self) -> tuple[float, Live] | None:
        """Return the seconds left until the first time limit, and whose it is."""
        seconds, above = self.run.limits.seconds, self.parent.left() if self.parent else None
        own = (seconds - (self.clock.monotonic() - self.began), self) if seconds else None
        return min((each for each in (own, above) if each), key=lambda each: each[0], default=None)


def exceeded(live: Live) -> str:
    """Return which limit is reached, its own or one that it shares, in words; empty if none is."""
    left = live.remaining
    if left is not None and left <= 0:
        return live.time_limit
    return live.tally.reached()
