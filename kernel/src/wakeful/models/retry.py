"""Trying again: transient faults of a provider are waited out, then the next model stands in."""

from __future__ import annotations

from attrs import define, evolve, field
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception
from tenacity.stop import stop_base
from tenacity.wait import wait_exponential, wait_random

from wakeful.models.tries import failed, total
from wakeful.types import (
    Clock,
    Delta,
    Emit,
    Model,
    ModelError,
    Profile,
    Reply,
    Request,
    TextDelta,
    TextWithdrawn,
    TryFailed,
    Usage,
)

#: First pause without Retry-After, in seconds; it doubles, with up to a second of jitter.
FIRST_PAUSE = 0.5
#: Longest pause without Retry-After, in seconds.
LONGEST_PAUSE = 30.0

_backoff = wait_exponential(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE) + wait_random(0, 1)


@define(eq=False)
class PatientModel:
    """A model that waits out what passes, over one model or several that stand in for it.

    Nothing of a reply is acted on before it is whole, so a broken one is thrown away and asked for again;
    text that was shown meanwhile is withdrawn. What broken tries used is added to the reply that succeeds,
    or travels with the error.

    Args:
        models: the agent's own model, then those that stand in for it, with their names.
        clock: what pauses are measured by.
        total_s: seconds after which no further try starts; each model gets one try whatever the time.
    """

    models: tuple[tuple[str, Model], ...]
    clock: Clock
    total_s: float
    profile: Profile = field(init=False)

    @profile.default
    def _profile(self) -> Profile:
        return self.models[0][1].profile

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        """Ask until a reply is whole.

        Raises:
            ModelError: the last model's last error, with what all tries used.
        """
        screen = None if emit is None else _Screen(emit)
        used: list[Usage] = []
        began = self.clock.monotonic()
        for place, (name, model) in enumerate(self.models):
            try:
                reply = await self._patiently(model, request, conversation, screen, used, began)
            except ModelError as error:
                if place + 1 < len(self.models) and error.fails_over:
                    continue
                error.usage = total(used)
                raise
            stand_in = name if place else reply.model
            return evolve(reply, model=stand_in, usage=total([*used, reply.usage]) or reply.usage)
        raise AssertionError  # the last model returns or raises

    async def _patiently(
        self,
        model: Model,
        request: Request,
        conversation: str,
        screen: _Screen | None,
        used: list[Usage],
        began: float,
    ) -> Reply:
        tries = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, ModelError) and error.retryable),
            wait=_pause,
            stop=_OutOfTime(self.clock, began, self.total_s),
            before_sleep=None if screen is None else screen.tell,
            sleep=self.clock.sleep,
            reraise=True,
        )
        async for attempt in tries:
            with attempt:
                try:
                    return await model.complete(request, conversation, screen)
                except Exception as error:
                    reason = type(error).__name__  # the words of others are for the log alone
                    if isinstance(error, ModelError):
                        used += [error.usage] if error.usage is not None else []
                        failed(error.usage)
                        reason = str(error)
                    if screen is not None:
                        await screen.withdraw(reason)
                    raise
        raise AssertionError  # tenacity returns or raises

    async def close(self) -> None:
        """Close every model."""
        for _, model in self.models:
            close = getattr(model, "close", None)
            if close is not None:
                await close()


@define
class _Screen:
    """Passes pieces on and knows whether any text is showing."""

    emit: Emit
    showing: bool = False

    async def __call__(self, delta: Delta) -> None:
        self.showing = self.showing or isinstance(delta, TextDelta)
        await self.emit(delta)

    async def withdraw(self, reason: str) -> None:
        if self.showing:
            self.showing = False
            await self.emit(TextWithdrawn(reason))

    async def tell(self, state: RetryCallState) -> None:
        """Say why there is a pause; without it a caller could take it for a long reply."""
        error = state.outcome.exception() if state.outcome is not None else None
        await self.emit(TryFailed(str(error), _pause(state)))


class _OutOfTime(stop_base):
    """Stops when the next try would start after the time is over."""

    def __init__(self, clock: Clock, began: float, total_s: float) -> None:
        self.clock, self.end = clock, began + total_s

    def __call__(self, retry_state: RetryCallState) -> bool:
        return self.clock.monotonic() + _pause(retry_state) > self.end


def _pause(state: RetryCallState) -> float:
    """Return the seconds before the next try: what the provider asked for, else growing pauses.

    Asked once by what decides whether to stop and once by what waits: both get the same jitter.
    """
    known: tuple[int, float] | None = getattr(state, "wakeful_pause", None)
    if known is not None and known[0] == state.attempt_number:
        return known[1]
    error = state.outcome.exception() if state.outcome is not None else None
    asked = error.retry_after if isinstance(error, ModelError) else None
    pause = asked or _backoff(state)  # "at once" is no pause to live by
    state.wakeful_pause = (state.attempt_number, pause)  # type: ignore[attr-defined]  # a note of ours
    return pause
