"""The suite that every implementation of the ``WorkRuntime`` seam passes."""

from __future__ import annotations

from wakeful.testing.runtime_ends import CancelChecks, StopChecks
from wakeful.testing.runtime_items import ItemChecks
from wakeful.testing.runtime_load import LoadChecks
from wakeful.testing.runtime_timers import LeaseChecks, TimerChecks


class RuntimeConformance(ItemChecks, CancelChecks, StopChecks, TimerChecks, LeaseChecks, LoadChecks):
    """Checks of a :class:`wakeful.types.WorkRuntime`; subclass it in a test module and say how to make one.

    ::

        class TestMyRuntime(RuntimeConformance):
            @asynccontextmanager
            async def queue(self, clock):
                queue = await MyQueue.open()

                async def make(clock):
                    return MyRuntime(queue, clock)

                yield make
                await queue.close()

    ``queue`` is entered once for each test and gives an empty queue. ``make`` is called for each runtime with
    a clock of its own, which the runtime must use for every waiting: time moves only when a test says so, and
    each of the clocks can stand still, like the process of a runtime does. The tests are plain functions with
    event loops of their own, so no plugin for pytest is needed.

    Attributes:
        lease_s: what the runtimes are told: seconds after which one that stands still has lost its items.
        most_attempts: what they are told: attempts after which an item is given up.
        longest_pause: seconds within which a failed item is tried again.
        seeds: how many random histories are played.
    """
