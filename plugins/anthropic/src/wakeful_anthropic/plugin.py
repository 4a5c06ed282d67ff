"""The plugin, and the provider that binds ``anthropic:name``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from wakeful.hookspecs import hookimpl
from wakeful.types import ConfigError, Json, Model, Problem, Provider, Services, nearest
from wakeful_anthropic.client import Clients, Connection
from wakeful_anthropic.errors import ApiFaults
from wakeful_anthropic.messages import SEARCH_TOOLS, Encoder, Fixed
from wakeful_anthropic.model import LONGEST_WHOLE, AnthropicModel
from wakeful_anthropic.profiles import PROVIDER, Facts, facts_of, known_models
from wakeful_anthropic.settings import AnthropicSettings
from wakeful_anthropic.usage import Prices


class Anthropic:
    """Brings the model provider ``anthropic``."""

    Settings = AnthropicSettings

    def __init__(self, settings: AnthropicSettings, services: Services) -> None:
        self._provider = AnthropicProvider(settings, services)

    @hookimpl
    def model_providers(self) -> Sequence[Provider]:
        """Give the provider of ``model = "anthropic:claude-…"``."""
        return (self._provider,)

    async def close(self) -> None:
        """Close the connections."""
        await self._provider.clients.close()


class AnthropicProvider:
    """Binds models.

    Args:
        settings: used for an agent that has none of its own.
        services: the clock, and where reports go.
    """

    name = PROVIDER

    def __init__(self, settings: AnthropicSettings, services: Services) -> None:
        self.clients = Clients()
        self._settings, self._services = settings, services
        self._reported: set[str] = set()

    def bind(self, model: str, settings: Json, resolve: Callable[[str], Model]) -> Model:  # noqa: ARG002  (the protocol)
        """Return a model; see :class:`wakeful.types.Provider`. Nothing is connected, nor the SDK imported.

        Raises:
            ConfigError: no name, no key, or settings that do not fit the model.
        """
        own = settings if isinstance(settings, AnthropicSettings) else self._settings
        name = model.strip()
        if not name:
            raise ConfigError([Problem("", "anthropic: names no model; expected anthropic:claude-…")])
        connection = Connection.of(own)
        facts, known = facts_of(name, own.models)
        if not known:
            self._report(name, facts)
        params = _params(own, facts, name)
        limit = own.max_tokens or facts.output
        return AnthropicModel(
            profile=facts.profile(limit, own.cache_ttl),
            encoder=Encoder(_fixed(own, facts, name, params)),
            faults=ApiFaults(f"{PROVIDER}:{name}", connection.place, connection.secrets),
            prices=Prices(facts.price or name),
            clients=self.clients,
            connection=connection,
            clock=self._services.clock,
            streams=own.stream,
            whole_tokens=own.max_tokens or min(facts.output, max(LONGEST_WHOLE, 2 * own.thinking_tokens)),
        )

    def _report(self, name: str, facts: Facts) -> None:
        """Say once that a model is not known."""
        if name in self._reported:
            return
        self._reported.add(name)
        self._services.report(
            f"unknown model {name!r}{nearest(name, known_models())}; assuming a window of {facts.window} and"
            f" an output limit of {facts.output} tokens; [plugins.anthropic.models] can say what is true"
        )


def _params(own: AnthropicSettings, facts: Facts, name: str) -> dict[str, Json]:
    """Return the parameters of every request beside model, limit, tools, system and messages."""
    params: dict[str, Json] = {}
    if own.thinking_tokens and facts.thinking == "none":
        raise ConfigError(
            [Problem("", f"plugins.anthropic.thinking_tokens: {name!r} does not think; set it to 0")]
        )
    if own.thinking_tokens and facts.thinking == "adaptive":
        # Newer models keep their thinking to themselves unless they are asked; older ones show it anyway.
        params["thinking"] = {"type": "adaptive", "display": "summarized"}
    elif own.thinking_tokens:
        limit = own.max_tokens or facts.output
        if own.thinking_tokens >= limit:
            what = f"plugins.anthropic.thinking_tokens must be below the output limit of {limit} tokens"
            raise ConfigError([Problem("", f"{what}, not {own.thinking_tokens}")])
        params["thinking"] = {"type": "enabled", "budget_tokens": own.thinking_tokens}
    if own.effort:
        params["output_config"] = {"effort": own.effort}
    if not own.parallel_calls and facts.parallel_calls:
        params["tool_choice"] = {"type": "auto", "disable_parallel_tool_use": True}
    return params


def _fixed(own: AnthropicSettings, facts: Facts, name: str, params: dict[str, Json]) -> Fixed:
    if own.tool_search and not facts.tool_search:
        raise ConfigError(
            [Problem("", f"plugins.anthropic.tool_search: {name!r} has no tool search; set it to ''")]
        )
    marker: dict[str, Json] = {"type": "ephemeral"}
    if own.cache_ttl != "5m":
        marker["ttl"] = own.cache_ttl
        _check_marks(own)
    return Fixed(
        model=name,
        params=params,
        marker=marker,
        breakpoints=facts.breakpoints,
        server_tools=own.server_tools,
        search=SEARCH_TOOLS[own.tool_search or "bm25"] if facts.tool_search else None,
        deferring=bool(own.tool_search),
        keep=own.tool_search_keep,
    )


def _check_marks(own: AnthropicSettings) -> None:
    """Refuse breakpoints of five minutes on server tools: they stand before those of an hour."""
    marks = {str(tool.get("name", "?")): tool.get("cache_control") for tool in own.server_tools}
    short = [
        name for name, mark in marks.items() if isinstance(mark, Mapping) and mark.get("ttl") != own.cache_ttl
    ]
    if short:
        what = (
            f"plugins.anthropic.server_tools: the breakpoint of {', '.join(short)} must have"
            f" ttl = {own.cache_ttl!r} as well: a longer one may not come after a shorter (cache_ttl)"
        )
        raise ConfigError([Problem("", what)])
