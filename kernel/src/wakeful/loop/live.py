"""The one thing about a run that changes: which view of it is current, and who listens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field

from wakeful.loop.agent import BuiltAgent
from wakeful.loop.journal import Journal
from wakeful.loop.redact import Redactor
from wakeful.types import Clock, Event, Notice, PluginError, Row, Run, Stepped, Usage

if TYPE_CHECKING:
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
        sent: input tokens of the last request as they were reported, failed tries left out.
        cuts: replies in a row that the output limit cut inside a call.
        notices: what failed without breaking the step.
        within: tool name to how often it began inside other calls of the run.
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
    sent: int = 0
    cuts: int = 0
    notices: list[str] = field(factory=list)
    abandoned: bool = False
    settled: bool = False
    last: Stepped | None = None
    within: Counter[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.within = Counter(self.run.within)

    def update(self, **values: Any) -> Run:
        """Make the next view current and return it."""
        self.run = evolve(self.run, now=self.clock.now(), **values)
        return self.run

    def spend(self, usage: Usage) -> None:
        """Count what a model call used."""
        self.update(usage=self.run.usage + usage)

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
        """Seconds left of the time limit; None without one."""
        seconds = self.run.limits.seconds
        return None if not seconds else seconds - (self.clock.monotonic() - self.began)


def exceeded(live: Live) -> str:
    """Return which limit is reached, in words; empty if none is."""
    run, limits = live.run, live.run.limits
    if limits.steps and run.step >= limits.steps:
        return f"the limit of {limits.steps} steps"
    left = live.remaining
    if left is not None and left <= 0:
        return f"the limit of {limits.seconds:g} seconds"
    if limits.tokens and run.usage.total >= limits.tokens:
        return f"the limit of {limits.tokens} tokens ({run.usage.total} used)"
    if limits.cost and (run.usage.cost or 0) >= limits.cost:
        return f"the limit of ${limits.cost:g} (${run.usage.cost or 0:.4f} spent)"
    return ""
