"""The offer: what of the actions a model is shown, and what its calls mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve

from wakeful.tools.describe import declare_tool
from wakeful.tools.offer import PlainOffer
from wakeful.types import (
    Action,
    ActionResult,
    AgentView,
    Call,
    ConfigError,
    Json,
    Offered,
    Problem,
    Services,
    Tool,
)
from wakeful_multiplexer.calls import EXECUTE, MOST, SEARCH, inner_calls, search_arguments
from wakeful_multiplexer.choice import choose, matches, section
from wakeful_multiplexer.finder import Finder, Finders
from wakeful_multiplexer.search import search_action
from wakeful_multiplexer.settings import MultiplexerSettings
from wakeful_multiplexer.synonyms import Synonyms

WHERE = "plugins.multiplexer"
#: The tool that runs what was found. It is no action: each of its entries is resolved to the action it names.
EXECUTE_TOOL = Tool(
    EXECUTE,
    "Run actions by name, one or several at once; each is answered on its own. Parameters must fit the schema"
    f" that {SEARCH} gave.",
    {
        "type": "object",
        "properties": {
            "actions": {
                "type": "array",
                "maxItems": MOST,
                "items": {
                    "type": "object",
                    "properties": {"action_name": {"type": "string"}, "parameters": {"type": "object"}},
                    "required": ["action_name", "parameters"],
                },
            }
        },
        "required": ["actions"],
    },
)
_HOW = {
    "tools": f"Find one with {SEARCH}, run it with {EXECUTE}.",
    "provider": "The tool search finds them; then they are called like any other tool.",
}


class MultiplexedOffer:
    """Shows pinned actions and hides the others behind a search.

    Args:
        settings: see :class:`MultiplexerSettings`.
        services: the plugin's.
    """

    def __init__(self, settings: MultiplexerSettings, services: Services) -> None:
        self._settings, self._services = settings, services
        own = frozenset({SEARCH, EXECUTE})
        self._finders = Finders(Synonyms.of(settings.synonyms), own)
        self._search = search_action(self._finders)

    def actions(self) -> Sequence[Action]:
        """Return the search; running what was found is no action of its own."""
        return () if self._settings.mode == "never" else (self._search,)

    def open(self, actions: Mapping[str, Action], agent: AgentView) -> Offered:
        """Return what is declared for a new epoch. Nothing is added if nothing is hidden.

        Raises:
            ConfigError: the model has no search of its own, or an action has the name of a tool that is
                needed.
        """
        effective = [action for name, action in actions.items() if name != SEARCH]
        self._report_unknown(effective)
        chosen = choose(effective, self._settings)
        backend = self._backend(agent)
        shown = [declare_tool(action) for action in chosen.shown]
        if not chosen.hidden:
            return Offered(tuple(shown))
        if EXECUTE in actions:
            what = f"an action has the tool name {EXECUTE!r}, which the multiplexer needs; rename it"
            raise ConfigError([Problem(WHERE, what)])
        if backend == "provider":
            shown += [evolve(declare_tool(action), deferred=True) for action in chosen.hidden]
        else:
            shown += [declare_tool(self._search), EXECUTE_TOOL]
        told = section(chosen.hidden, self._settings.index_names_up_to, _HOW[backend])
        return Offered(tuple(sorted(shown, key=lambda tool: tool.name)), {"backend": backend}, (told,))

    def resolve(
        self, call: Call, catalogue: Mapping[str, Action], decision: Json
    ) -> Sequence[tuple[str, Json]] | ActionResult:
        """Return what a call runs: the hidden actions that it names, or the one that is called directly."""
        if decision is None:
            return PlainOffer().resolve(call, self._visible(catalogue), decision)
        finder = self._finders.of(catalogue)
        if call.tool == SEARCH:
            return [(SEARCH, search_arguments(call.args))]
        if call.tool == EXECUTE:
            return _inner(call, finder)
        name = finder.named(call.tool)
        return name if isinstance(name, ActionResult) else [(name, call.args)]

    def finder(self, catalogue: Mapping[str, Action]) -> Finder:
        """Return what finds actions of a catalogue."""
        return self._finders.of(catalogue)

    def _visible(self, catalogue: Mapping[str, Action]) -> Mapping[str, Action]:
        return {name: action for name, action in catalogue.items() if name != SEARCH}

    def _backend(self, agent: AgentView) -> str:
        wanted, has = self._settings.backend, agent.profile.tool_search
        if wanted == "provider" and not has:
            what = f"the model {agent.model!r} has no tool search of its own; expected 'auto' or 'tools'"
            raise ConfigError([Problem(f"{WHERE}.backend", what)])
        if wanted == "auto":
            return "provider" if has else "tools"
        return wanted

    def _report_unknown(self, actions: Sequence[Action]) -> None:
        """Say which pinned names mean nothing now: an action may come and go with a server it lives on."""
        for name in self._settings.pinned:
            if not any(matches(action, name) for action in actions):
                self._services.report(f"{WHERE}.pinned: no action is named {name!r} now")


def _inner(call: Call, finder: Finder) -> Sequence[tuple[str, Json]] | ActionResult:
    read = inner_calls(call.args)
    if isinstance(read, ActionResult):
        return read
    resolved: list[tuple[str, Json]] = []
    for entry in read:
        if isinstance(entry, ActionResult):
            resolved.append((EXECUTE, entry))
            continue
        if entry.name == SEARCH:
            resolved.append((SEARCH, search_arguments(entry.args)))
            continue
        name = finder.named(entry.name)
        resolved.append((entry.name, name) if isinstance(name, ActionResult) else (name, entry.args))
    return resolved
