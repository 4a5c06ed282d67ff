"""The plugin: a provider whose models are served by engines that it runs itself."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from wakeful.hookspecs import hookimpl
from wakeful.types import BackgroundService, ConfigError, Json, Model, Problem, Provider, Resolve, Services
from wakeful_llamacpp.engine import Engines, Setup
from wakeful_llamacpp.files import DEFAULT, model_file, template_file
from wakeful_llamacpp.gguf import Facts, facts_of
from wakeful_llamacpp.model import LlamaModel
from wakeful_llamacpp.settings import LlamaCppSettings

#: Smallest value of each setting that is a number.
_LEAST = {"context": 256, "slots": 1, "threads": 0, "cache_mib": 0, "max_tokens": 0}
#: Seconds that a cached prefix is expected to live: until the engine ends or needs the memory.
_CACHE_TTL = 3600


class LlamaCpp:
    """Brings the model provider ``llamacpp`` and the service that runs its engines."""

    Settings = LlamaCppSettings

    def __init__(self, settings: LlamaCppSettings, services: Services) -> None:
        self._engines = Engines(services.clock)
        self._provider = LlamaProvider(settings, services, self._engines)

    @hookimpl
    def model_providers(self) -> Sequence[Provider]:
        """Give the provider of ``model = "llamacpp:…"``."""
        return (self._provider,)

    @hookimpl
    def background_services(self) -> Sequence[BackgroundService]:
        """Give the engines of the models that are in use."""
        return (self._engines,)


class LlamaProvider:
    """Binds models to engines. Nothing is started before the application opens.

    Args:
        settings: used for an agent that has none of its own.
        services: the clock, and the folder of relative paths.
        engines: where engines are shared.
    """

    name = "llamacpp"

    def __init__(self, settings: LlamaCppSettings, services: Services, engines: Engines) -> None:
        self._settings, self._services, self._engines = settings, services, engines

    def bind(self, model: str, settings: Json, resolve: Resolve) -> Model:
        """Return the model; see :class:`wakeful.types.Provider`.

        Raises:
            ConfigError: no such file, a file that is no model, or settings that cannot work.
        """
        own = settings if isinstance(settings, LlamaCppSettings) else self._settings
        problems = _wrong_numbers(own)
        if problems:
            raise ConfigError(problems)
        folder = self._services.folder
        name = model.strip()
        path = model_file(name, folder)
        facts = facts_of(path)
        template = _template(name, own, folder)
        facts = Facts(facts.trained, template) if template else facts
        context = min(own.context, facts.trained) if facts.trained else own.context
        setup = Setup(str(path), path.stem, context, own.slots, own.threads, own.cache_mib, template)
        engine = self._engines.of(setup, own.start_s)
        return LlamaModel(engine, resolve, _for_openai(own, setup, facts))


def _template(name: str, own: LlamaCppSettings, folder: Path) -> str:
    """Return the chat template to use instead of the file's; empty if there is none."""
    if own.chat_template:
        return template_file(own.chat_template, folder).read_text(encoding="utf-8")
    if name == DEFAULT:  # its own knows no tools
        return files(__package__).joinpath("chatml.jinja").read_text(encoding="utf-8")
    return ""


def _for_openai(own: LlamaCppSettings, setup: Setup, facts: Facts) -> dict[str, Json]:
    """Return the settings of the provider that speaks to the engine."""
    about = {
        "window": setup.context,
        "output": min(own.max_tokens or setup.context, setup.context),
        "family": "byte-prefix",
        "minimum": 1,
        "cache_ttl": _CACHE_TTL,
        "native_tools": facts.tools,
    }
    return {
        "api": "chat",
        "timeout_s": own.timeout_s,
        "max_tokens": own.max_tokens,
        "extra": dict(own.extra),
        "models": {setup.alias: about},
    }


def _wrong_numbers(own: LlamaCppSettings) -> list[Problem]:
    problems = [
        Problem(f"plugins.llamacpp.{name}", f"must be {least} or more, not {getattr(own, name)}")
        for name, least in _LEAST.items()
        if getattr(own, name) < least
    ]
    problems += [
        Problem(f"plugins.llamacpp.{name}", f"must be above 0, not {getattr(own, name):g}")
        for name in ("start_s", "timeout_s")
        if not getattr(own, name) > 0
    ]
    return problems
