"""Asking one plugin for fragments of the prompt; one that fails leaves its own out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from wakeful.plugins import answers
from wakeful.plugins.check import Impl
from wakeful.plugins.registry import failed, sort
from wakeful.types import Fragment, PluginError, Run


def snapshot(impl: Impl, run: Run) -> list[tuple[str, Fragment]] | PluginError:
    """Return (plugin, fragment) of what one plugin says of a run now, or how it failed."""
    try:
        return [(impl.plugin, each) for each in answers.many(impl.call({"run": run}), Fragment)]
    except Exception as error:  # noqa: BLE001  (the request goes out without this plugin's fragments)
        return failed(impl, error)


async def retrieve(impl: Impl, run: Run, timeout_s: float) -> list[tuple[str, Fragment]] | PluginError:
    """Return (plugin, fragment) of what one plugin retrieves within its time, or how it failed."""
    try:
        async with asyncio.timeout(timeout_s) as limit:
            answer = await impl.call({"run": run})
        return [(impl.plugin, each) for each in answers.many(answer, Fragment)]
    except Exception as error:  # noqa: BLE001  (the turn goes on without this plugin's block)
        late = isinstance(error, TimeoutError) and limit.expired()
        return failed(impl, f"no answer within {timeout_s:g} seconds" if late else error)


def split(
    outcomes: Sequence[list[tuple[str, Fragment]] | PluginError],
) -> tuple[tuple[Fragment, ...], tuple[PluginError, ...]]:
    """Return the fragments by (order, name, plugin), and what failed."""
    found = [pair for outcome in outcomes if isinstance(outcome, list) for pair in outcome]
    failures = tuple(outcome for outcome in outcomes if isinstance(outcome, PluginError))
    return sort(found, lambda fragment: (fragment.order, fragment.name)), failures
