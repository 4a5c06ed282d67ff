"""Profiles, settings and prices: what is known before anything is sent."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from genai_prices import Usage as Priced
from genai_prices import calc_price

from wakeful.config import structure
from wakeful.types import ConfigError, Profile, Usage
from wakeful_anthropic import AnthropicSettings, ModelFacts, facts_of, known_models
from wakeful_anthropic.usage import Prices

from .conftest import KEY, Kit

Bind = Callable[..., Any]
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def test_a_model_is_found_by_the_longest_beginning() -> None:
    assert facts_of("claude-opus-4-5-20251101")[0].minimum == 4096
    assert facts_of("claude-opus-4-1-20250805")[0].output == 32_000
    assert facts_of("claude-opus-4-8")[0].thinking == "adaptive"
    assert facts_of("claude-sonnet-4-20250514")[0].window == 200_000
    assert facts_of("claude-3-haiku-20240307")[0].output == 4_096
    assert all(facts_of(name)[1] for name in known_models())


def test_every_profile_is_sound() -> None:
    for name in known_models():
        facts, _ = facts_of(name)
        assert 0 < facts.output < facts.window
        assert 0 < facts.minimum <= 4096
        assert facts.breakpoints == 4
        assert facts.thinking in {"none", "budget", "adaptive"}


def test_the_kernels_profile(bind: Bind) -> None:
    expected = Profile(
        "anthropic", "breakpoint", 200_000, 4096, 64_000, native_tools=True, cache_ttl=300, tool_search=True
    )
    assert bind(name="claude-haiku-4-5").profile == expected
    assert bind(name="claude-haiku-4-5", max_tokens=900).profile.output == 900


def test_an_unknown_model_gets_little_and_one_warning_with_the_nearest_name(kit: Kit) -> None:
    from wakeful_anthropic import Anthropic

    own: Any = Anthropic(AnthropicSettings(api_key=KEY), kit)  # type: ignore[arg-type]  # all it uses
    (provider,) = own.model_providers()
    for _ in range(2):
        assert provider.bind("claude-sonet-5", None, None).profile.output == 8_192
    assert len(kit.reports) == 1
    assert kit.reports[0].startswith("unknown model 'claude-sonet-5'; did you mean 'claude-sonnet-5'?")


def test_settings_say_what_is_true_of_a_model(kit: Kit, bind: Bind) -> None:
    raw = {"api_key": KEY, "models": {"my-model": {"window": 50_000, "output": 1000, "thinking": "budget"}}}
    own = structure(AnthropicSettings, raw, "plugins.anthropic")
    assert own.models == {"my-model": ModelFacts(window=50_000, output=1000, thinking="budget")}
    profile = bind(name="my-model-2", models=own.models).profile
    assert (profile.window, profile.output, profile.minimum) == (50_000, 1000, 4096)
    assert (
        bind(name="claude-opus-4-8", models={"claude-opus-4-8": ModelFacts(minimum=9)}).profile.minimum == 9
    )
    assert kit.reports == []


SEARCH = {"type": "web_search_20250305", "name": "web_search"}


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {"api_key": ""},
            "no API key: set ANTHROPIC_API_KEY in the environment, or api_key under [plugins.anthropic]",
        ),
        ({"api_key": f"{KEY}\n"}, "plugins.anthropic.api_key is not a key"),
        ({"api_key": "schlüssel"}, "plugins.anthropic.api_key is not a key"),
        ({"base_url": "localhost:8080"}, "plugins.anthropic.base_url must begin with http:// or https://"),
        ({"thinking_tokens": 2048, "name": "claude-3-5-haiku-latest"}, "does not think; set it to 0"),
        (
            {"thinking_tokens": 2048, "max_tokens": 2000, "name": "claude-haiku-4-5"},
            "below the output limit of 2000",
        ),
        ({"tool_search": "bm25", "name": "claude-3-haiku-20240307"}, "has no tool search; set it to ''"),
        (
            {"cache_ttl": "1h", "server_tools": [{**SEARCH, "cache_control": {"type": "ephemeral"}}]},
            "the breakpoint of web_search must have ttl = '1h' as well",
        ),
        ({"name": " "}, "names no model; expected anthropic:claude-…"),
    ],
)
def test_what_cannot_work_is_one_line_when_the_agent_is_built(
    bind: Bind, settings: Any, problem: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        bind(**{"url": "", **settings})
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "raw", [{"thinking_tokens": 1000}, {"timeout_s": 0}, {"max_tokens": -1}, {"cache_ttl": "2h"}]
)
def test_settings_out_of_range_are_refused(raw: Any) -> None:
    with pytest.raises(ConfigError, match=next(iter(raw))):
        structure(AnthropicSettings, raw, "plugins.anthropic")


def test_the_key_or_a_token_of_the_environment_will_do(bind: Bind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "a-token")
    assert (bind(api_key="").connection.key, bind(api_key="").connection.token) == ("", "a-token")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key")
    assert (bind(api_key="").connection.key, bind(api_key="").connection.token) == ("a-key", "")
    assert bind().connection.key == KEY


def test_binding_imports_no_sdk() -> None:
    code = (
        "import sys; from wakeful_anthropic import Anthropic, AnthropicSettings\n"
        "import types; s = types.SimpleNamespace(clock=None, report=print)\n"
        "(p,) = Anthropic(AnthropicSettings(api_key='k'), s).model_providers()\n"
        "p.bind('claude-sonnet-5', None, None)\n"
        "print(sorted({'anthropic', 'httpx2', 'genai_prices', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


RAW = {
    "input_tokens": 1000,
    "cache_read_input_tokens": 50_000,
    "cache_creation_input_tokens": 3000,
    "cache_creation": {"ephemeral_5m_input_tokens": 2000, "ephemeral_1h_input_tokens": 1000},
    "output_tokens": 400,
}


@pytest.mark.parametrize(
    "name", ["claude-sonnet-5", "claude-opus-4-8", "claude-haiku-4-5-20251001", "claude-haiku-5-5"]
)
@pytest.mark.parametrize("long", [False, True])
def test_the_cost_is_what_the_library_says_again_and_again(name: str, long: bool) -> None:
    raw = {**RAW, "cache_read_input_tokens": 150_000} if long else RAW
    read = 150_000 if long else 50_000
    told = Priced(
        input_tokens=4000 + read,
        cache_read_tokens=read,
        cache_write_tokens=3000,
        cache_write_1h_tokens=1000,
        output_tokens=400,
    )
    expected = float(calc_price(told, name, provider_id="anthropic", genai_request_timestamp=NOW).total_price)
    prices = Prices(name)
    for minutes in (0, 1, 90):
        usage = prices.usage(raw, NOW + timedelta(minutes=minutes))
        assert usage == Usage(read, 3000, 1000, 400, usage.cost, write_1h=1000)
        assert usage.cost == pytest.approx(expected)
        prices.usage(RAW, NOW)  # another length of prompt in between


def test_a_model_without_a_price_costs_nobody_knows_what() -> None:
    prices = Prices("my-model")
    assert [prices.usage(RAW, NOW).cost for _ in range(2)] == [None, None]
