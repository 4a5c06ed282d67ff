"""The plugin and its provider: everything that can be wrong is found when a model is bound."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from attrs import evolve, frozen

from wakeful.hookspecs import hookimpl
from wakeful.types import ConfigError, Json, Model, Problem, Provider, Services
from wakeful_openai.chat import ChatForm
from wakeful_openai.connection import Connection
from wakeful_openai.facts import PROVIDER, Facts, facts_of, near
from wakeful_openai.form import Form, Target
from wakeful_openai.model import OpenAIModel
from wakeful_openai.responses import ResponsesForm
from wakeful_openai.settings import OpenAISettings

#: Where the SDK goes by default.
OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE, URL_VARIABLE = "OPENAI_API_KEY", "OPENAI_BASE_URL"
#: What is sent to a compatible server that wants no key; the SDK insists on one.
NO_KEY = "none"
_HERE = "plugins.openai"


class OpenAI:
    """Brings the model provider ``openai``."""

    Settings = OpenAISettings

    def __init__(self, settings: OpenAISettings, services: Services) -> None:
        self._provider = OpenAIProvider(settings, services)

    @hookimpl
    def model_providers(self) -> Sequence[Provider]:
        """Give the provider of ``model = "openai:…"``."""
        return (self._provider,)


@frozen
class _Address:
    """Where requests go. ``official`` means OpenAI itself, its regions included."""

    url: str
    official: bool


class OpenAIProvider:
    """Binds models of OpenAI and of compatible servers. Nothing is sent before the first request.

    Args:
        settings: used for an agent that has none of its own.
        services: the clock, and where reports go.
    """

    name = PROVIDER

    def __init__(self, settings: OpenAISettings, services: Services) -> None:
        self._settings, self._services = settings, services
        self._told: set[str] = set()

    def bind(self, model: str, settings: Json, resolve: Callable[[str], Model]) -> Model:  # noqa: ARG002  (the protocol)
        """Return the model; see :class:`wakeful.types.Provider`.

        Raises:
            ConfigError: no model named, no key, or settings that cannot work; all of them at once.
        """
        own = settings if isinstance(settings, OpenAISettings) else self._settings
        name = model.strip()
        problems: list[Problem] = []
        if not name:
            problems.append(Problem("", "openai: names no model; expected e.g. openai:gpt-5.2"))
        address = _address(own, problems)
        key = _key(own, problems, official=address.official)
        form = _form_class(own, address)
        problems += _wrong_numbers(own)
        problems += [
            Problem(f"{_HERE}.extra", f"{field!r} is written by the plugin itself; leave it out")
            for field in sorted(set(own.extra) & form.own_fields)
        ]
        if problems:
            raise ConfigError(problems)
        facts = self._facts(name, own, address, form)
        target = Target(
            model=name,
            facts=facts,
            official=address.official,
            max_tokens=own.max_tokens,
            effort=own.effort,
            summary=own.reasoning_summary,
            store=own.store,
            parallel=own.parallel_calls or not facts.parallel_calls,  # one call at a time already
            extra=dict(own.extra),
        )
        connection = Connection(name, address.url, key, own.timeout_s, self._services.clock)
        return OpenAIModel(form(target, connection.faults), connection, stream=own.stream)

    def _facts(self, name: str, own: OpenAISettings, address: _Address, form: type[Form]) -> Facts:
        facts = facts_of(name, own.models)
        if not facts.known and name not in self._told:
            self._told.add(name)
            self._services.report(
                f"unknown model {name!r}{near(name)}: assuming a window of {facts.window} tokens"
                f' (say otherwise in [{_HERE}.models."{name}"])'
            )
        overridden = any(name.startswith(each) and own.models[each].family for each in own.models)
        if form is ChatForm and not address.official and facts.family == "breakpoint" and not overridden:
            facts = evolve(facts, family="byte-prefix")  # marks are OpenAI's own; others may refuse them
        if form is not ResponsesForm:
            facts = evolve(facts, tool_search=False)  # Chat Completions has none
        if address.official and not facts.price:
            facts = evolve(facts, price=f"{PROVIDER}:{name}")
        return facts


def _form_class(own: OpenAISettings, address: _Address) -> type[Form]:
    if own.api == "auto":
        return ResponsesForm if address.official else ChatForm
    return ResponsesForm if own.api == "responses" else ChatForm


def _address(own: OpenAISettings, problems: list[Problem]) -> _Address:
    where = f"{_HERE}.base_url" if own.base_url else f"environment variable {URL_VARIABLE}"
    url = (own.base_url or os.environ.get(URL_VARIABLE, "") or OPENAI_URL).strip()
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        parts, host = urlsplit(""), ""
    if parts.scheme not in {"http", "https"} or not host or any(char.isspace() for char in url):
        problems.append(Problem(where, "is no web address; expected e.g. http://127.0.0.1:8080/v1"))
    official = host == "openai.com" or host.endswith(".openai.com")
    return _Address(url, official)


def _key(own: OpenAISettings, problems: list[Problem], *, official: bool) -> str:
    given = str(own.api_key).strip()
    # A key of the environment is for the address of the environment, else for OpenAI; it goes to a server
    # that the file names only if the file says so.
    known = os.environ.get(KEY_VARIABLE, "").strip()
    key = given or (known if official else (not own.base_url and known) or NO_KEY)
    if not key:
        what = f'no API key: set the environment variable {KEY_VARIABLE}, or api_key = "${{env:NAME}}"'
        problems.append(Problem(f"{_HERE}.api_key", what))
    elif not (key.isascii() and key.isprintable()) or " " in key:
        problems.append(Problem(f"{_HERE}.api_key", "the key has characters that no key has; was it cut?"))
    return key


def _wrong_numbers(own: OpenAISettings) -> list[Problem]:
    problems = []
    if not own.timeout_s > 0:
        problems.append(Problem(f"{_HERE}.timeout_s", f"must be above 0, not {own.timeout_s:g}"))
    if own.max_tokens < 0:
        problems.append(Problem(f"{_HERE}.max_tokens", f"must be 0 or more, not {own.max_tokens}"))
    return problems
