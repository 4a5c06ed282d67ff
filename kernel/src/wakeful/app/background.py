"""Background services: what plugins run beside the agents while the application is open."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping

from attrs import define, field

from wakeful.plugins.hooks import PlatformPlugins
from wakeful.types import BackgroundService, Clock, Problem
from wakeful.waiting import within

log = logging.getLogger("wakeful")

#: Seconds in which a service must have started. Loading a large model from a cold disk takes longer, so a
#: service that does such things returns before they are done; this is for what agents cannot do without.
START_S = 30.0
#: Seconds in which a service must have stopped: enough to end a child process the hard way.
STOP_S = 15.0


@define(eq=False)
class Background:
    """Starts the services of one application, all at once, and stops those it started.

    Args:
        clock: what the waits are measured by.
    """

    clock: Clock
    _begun: list[tuple[str, BackgroundService]] = field(factory=list, init=False)

    async def start(self, platform: PlatformPlugins) -> Mapping[str, tuple[Problem, ...]]:
        """Start every service; return what went wrong, by the plugin that gave it."""
        found, failures = platform.services()
        problems: dict[str, list[Problem]] = {}
        for failure in failures:
            problems.setdefault(failure.plugin, []).append(Problem("", str(failure)))
        self._begun += found
        outcomes = await asyncio.gather(*(self._start(service) for _, service in found))
        for (plugin, service), what in zip(found, outcomes, strict=True):
            if what:
                text = f"background service {service.name!r} did not start: {what}"
                problems.setdefault(plugin, []).append(Problem("", text))
        return {plugin: tuple(each) for plugin, each in problems.items()}

    async def _start(self, service: BackgroundService) -> str:
        """Return why a service did not start, in one line; empty if it did."""
        try:
            await within(self.clock, START_S, service.start())
        except TimeoutError:
            return f"not within {START_S:g} seconds"
        except Exception as error:  # noqa: BLE001  (other agents run without it)
            return f"{type(error).__name__}: {' '.join(str(error).split())}"
        return ""

    async def stop(self) -> None:
        """Stop what was started, all at once; what fails or takes too long is logged."""
        begun, self._begun = self._begun, []
        await asyncio.gather(*(self._stop(plugin, service) for plugin, service in begun))

    async def _stop(self, plugin: str, service: BackgroundService) -> None:
        try:
            await within(self.clock, STOP_S, service.stop())
        except TimeoutError:
            log.warning("plugin %r: service %r did not stop within %g seconds", plugin, service.name, STOP_S)
        except Exception:
            log.exception("plugin %r: stopping the service %r failed", plugin, service.name)


def of_agent(
    failed: Mapping[str, tuple[Problem, ...]], used: Iterable[str], where: str
) -> tuple[Problem, ...]:
    """Return the problems of one agent: those of the plugins that it uses.

    Args:
        failed: what :meth:`Background.start` returned.
        used: names of plugins, those of its models' schemes included.
        where: the agent's place in the configuration.
    """
    return tuple(
        Problem(f"{where}: plugins.{plugin}", problem.what)
        for plugin in sorted(set(used) & set(failed))
        for problem in failed[plugin]
    )
