"""Writing how attempts ended, for as long as it takes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from logging import DEBUG, WARNING

from attrs import frozen
from sqlalchemy import Connection

from wakeful.runtime import claims
from wakeful.runtime.batches import Batch
from wakeful.runtime.held import Held, How, Why
from wakeful.types import Clock, WorkStatus

log = logging.getLogger("wakeful")

#: First and longest pause, in seconds, before an end that could not be written is written again.
PAUSES = (0.05, 1.0)


@frozen
class Outcomes:
    """Stores the ends of attempts.

    Args:
        batch: writes them.
        clock: the time of pauses.
        most_attempts: tries before an item becomes a dead letter.
    """

    batch: Batch
    clock: Clock
    most_attempts: int

    async def record(self, held: Held, how: How) -> None:
        """Write how an attempt ended, again and again until it is written or the lease runs out.

        The lease is renewed meanwhile like that of an item that runs, so nobody else begins what is done.
        """
        item_id = held.claimed.item.id
        shortest, longest = PAUSES
        pause = shortest
        # Nothing to write, and nothing failed, when the lease was lost.
        statement = self._statement(held, how) if held.why is not Why.LOST else None
        while statement is not None and held.why is not Why.LOST:
            try:
                written = await self.batch.write(statement)
            except Exception as error:  # noqa: BLE001  (whatever it is, the end must not get lost)
                if self.clock.now() >= held.until:
                    break
                level = WARNING if pause == shortest else DEBUG  # said once
                log.log(level, "the end of work item %s could not be written yet: %s", item_id, error)
                await self.clock.sleep(pause)
                pause = min(2 * pause, longest)
            else:
                if not written:
                    log.warning(
                        "work item %s had ended or was taken over; its end here does not count", item_id
                    )
                return
        log.warning("work item %s was lost (attempt %d); it is tried again", item_id, held.claimed.attempt)

    def _statement(self, held: Held, how: How) -> Callable[[Connection], bool]:
        now, claimed = self.clock.now(), held.claimed
        if how is How.RETURNED:
            return partial(claims.end, claimed=claimed, status=WorkStatus.DONE, now=now)
        if how is How.INTERRUPTED and held.why is Why.CANCELLED:
            return partial(claims.end, claimed=claimed, status=WorkStatus.CANCELLED, now=now)
        if held.why is Why.STOPPED:
            # Also when it raised: a handler torn out of its work has not failed.
            error = f"interrupted: {Why.STOPPED.value}"
            return partial(
                claims.give_back, claimed=claimed, not_before=now, now=now, error=error, counts=False
            )
        error = f"{type(held.error).__name__}: {held.error}"
        said = "work item %s failed (attempt %d): %s"
        log.warning(said, claimed.item.id, claimed.attempt, error, exc_info=held.error)
        if claimed.attempt >= self.most_attempts:
            return partial(claims.end, claimed=claimed, status=WorkStatus.FAILED, now=now, error=error)
        again: timedelta = claims.pause(claimed.attempt)
        return partial(
            claims.give_back, claimed=claimed, not_before=now + again, now=now, error=error, counts=True
        )
