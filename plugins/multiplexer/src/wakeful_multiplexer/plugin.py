"""The plugin: the offer, and the names found so far as runtime state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wakeful.hookspecs import hookimpl
from wakeful.types import Fragment, Offer, RowKind, Run, Services
from wakeful_multiplexer.offer import MultiplexedOffer
from wakeful_multiplexer.search import FOUND, OWNER
from wakeful_multiplexer.settings import MultiplexerSettings

#: Names that the state lists, those found or used last.
LISTED = 50
#: Rows, counted from the end, in which names that were used are looked for.
ROWS = 1_000
#: Place of the fragments among the state.
ORDER = 60
#: What is said of each: it stays callable, also when its schema is no longer in view.
FOUND_SO_FAR = "callable by name"


class Multiplexer:
    """Hides most of an agent's actions behind a search.

    Args:
        settings: see :class:`MultiplexerSettings`.
        services: what the kernel does for the plugin.
    """

    Settings = MultiplexerSettings

    def __init__(self, settings: MultiplexerSettings, services: Services) -> None:
        self._services = services
        self._offer = MultiplexedOffer(settings, services)

    @hookimpl
    def tool_offer(self) -> Offer:
        """Decide what is shown."""
        return self._offer

    @hookimpl
    def prompt_state(self, run: Run) -> Sequence[Fragment] | None:
        """Name the hidden actions that were found or used so far."""
        declared = run.epoch.declared
        if declared.decisions.get("offer") is None:
            return None
        hidden = self._services.catalogue(run).keys() - {t.name for t in declared.tools if not t.deferred}
        names = list(dict.fromkeys(name for name in _lately(run) if name in hidden))[:LISTED]
        # A fragment for each: a layout that sends what is new need not send the whole list again.
        return [Fragment(f"action {name}", ORDER, FOUND_SO_FAR) for name in sorted(names)]


def _lately(run: Run) -> Iterable[str]:
    """Yield names of actions that ran, the last first, then of those a search gave, the last turn's first."""
    for row in reversed(run.rows[-ROWS:]):
        if row.kind is RowKind.RESULT:
            yield from row.meta.get("actions", ())
    put = run.state.get(OWNER, {}).items()
    found = {key.removeprefix(FOUND): turn for key, turn in put if key.startswith(FOUND)}
    yield from sorted(found, key=lambda name: (-found[name], name))
