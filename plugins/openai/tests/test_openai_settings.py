"""What is wrong is said when the model is bound, all of it at once; what is unknown is said once."""

from __future__ import annotations

from typing import Any

import pytest

from wakeful.config import structure
from wakeful.testing import PluginConformance
from wakeful.types import ConfigError
from wakeful_openai import OpenAISettings
from wakeful_openai.settings import ModelFacts

OPENAI = "https://api.openai.com/v1"


class TestOpenAI(PluginConformance):
    plugin = "openai"


def problems(bench: Any, *args: Any, **settings: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        bench.bind(*args, **settings)
    return str(caught.value)


def test_no_key_names_the_variable_and_the_setting(bench: Any) -> None:
    line = problems(bench, "", api_key="")
    assert line == (
        "plugins.openai.api_key: no API key: set the environment variable OPENAI_API_KEY,"
        ' or api_key = "${env:NAME}"'
    )


def test_the_usual_variables_are_read(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " sk-from-the-environment\n")
    assert bench.bind("", api_key="").profile.provider == "openai"
    monkeypatch.setenv("OPENAI_BASE_URL", "nowhere")
    assert "environment variable OPENAI_BASE_URL: is no web address" in problems(bench, "", api_key="")


async def test_the_key_of_the_environment_goes_to_openai_alone(
    raw: Any, bench: Any, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai-only")
    raw.answer(b'{"choices": [{"message": {"content": "Hi"}}]}', kind="application/json")
    await bench.bind(raw.url, "qwen3", api_key="").complete(ask("go"), "c")
    await bench.bind(raw.url, "qwen3", api_key="sk-for-this-server").complete(ask("go"), "c")
    one, two = raw.requests
    assert b"sk-for-openai-only" not in one
    assert b"Bearer none" in one
    assert b"Bearer sk-for-this-server" in two


async def test_the_key_of_the_environment_goes_to_the_address_of_the_environment(
    raw: Any, bench: Any, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-the-proxy")
    monkeypatch.setenv("OPENAI_BASE_URL", raw.url)
    raw.answer(b'{"choices": [{"message": {"content": "Hi"}}]}', kind="application/json")
    await bench.bind("", "qwen3", api_key="").complete(ask("go"), "c")
    assert b"Bearer sk-for-the-proxy" in raw.requests[0]


def test_everything_wrong_is_said_at_once(bench: Any) -> None:
    lines = problems(
        bench,
        "localhost:8080",
        " ",
        api_key="a b",
        timeout_s=0,
        max_tokens=-1,
        extra={"messages": [], "model": "x"},
    ).splitlines()
    assert lines == [
        "openai: names no model; expected e.g. openai:gpt-5.2",
        "plugins.openai.base_url: is no web address; expected e.g. http://127.0.0.1:8080/v1",
        "plugins.openai.api_key: the key has characters that no key has; was it cut?",
        "plugins.openai.timeout_s: must be above 0, not 0",
        "plugins.openai.max_tokens: must be 0 or more, not -1",
        "plugins.openai.extra: 'messages' is written by the plugin itself; leave it out",
        "plugins.openai.extra: 'model' is written by the plugin itself; leave it out",
    ]


@pytest.mark.parametrize(
    "url", ["ftp://host/v1", "http://", "http://host:port/v1", "http://a b/v1", "http://[::1"]
)
def test_no_address(url: str, bench: Any) -> None:
    assert "base_url: is no web address" in problems(bench, url)


@pytest.mark.parametrize(
    ("model", "family", "window"),
    [
        ("gpt-5.2", "byte-prefix", 400_000),
        ("gpt-5.2-2025-12-11", "byte-prefix", 400_000),
        ("gpt-5.2-chat-latest", "byte-prefix", 128_000),
        ("gpt-5.4-mini", "byte-prefix", 400_000),
        ("gpt-5.6-terra", "breakpoint", 1_050_000),
        ("gpt-6.1-sol", "breakpoint", 1_050_000),
        ("ft:gpt-4.1-mini:ada::x", "byte-prefix", 1_000_000),
        ("o3-pro", "byte-prefix", 200_000),
    ],
)
def test_known_models(model: str, family: str, window: int, bench: Any) -> None:
    profile = bench.bind(OPENAI, model).profile
    assert (profile.family, profile.window) == (family, window)
    assert profile.minimum == 1024
    assert profile.native_tools
    assert bench.kit.reports == []


def test_an_unknown_model_is_taken_with_care_and_said_once(make_bench: Any) -> None:
    from wakeful_openai import OpenAI

    kit = make_bench().kit
    own = OpenAISettings(api_key="sk-1234567", base_url=OPENAI)
    (provider,) = OpenAI(own, kit).model_providers()
    first, _ = (provider.bind("gtp-5.2", own, kit.resolve) for _ in range(2))
    assert (first.profile.family, first.profile.window) == ("byte-prefix", 32_000)
    assert len(kit.reports) == 1
    assert kit.reports[0].startswith("unknown model 'gtp-5.2'; did you mean 'gpt-5")


def test_facts_of_the_settings_replace_known_ones(bench: Any) -> None:
    raw = {"models": {"qwen": {"window": 8_000}, "qwen3": {"window": 40_000, "native_tools": False}}}
    own = structure(OpenAISettings, raw, "plugins.openai")
    profile = bench.bind("http://127.0.0.1:1/v1", "qwen3:8b", models=own.models).profile
    assert (profile.window, profile.native_tools) == (40_000, False)
    assert bench.kit.reports == []
    with pytest.raises(ConfigError, match="windw: unknown setting; did you mean 'window'"):
        structure(OpenAISettings, {"models": {"x": {"windw": 1}}}, "plugins.openai")


def test_marks_are_for_openai_unless_the_settings_say_otherwise(bench: Any) -> None:
    elsewhere = "http://127.0.0.1:1/v1"
    assert bench.bind(elsewhere, "gpt-5.6-sol").profile.family == "byte-prefix"
    assert bench.bind(elsewhere, "gpt-5.6-sol", api="responses").profile.family == "breakpoint"
    own = {"gpt-5.6": ModelFacts(family="breakpoint")}
    assert bench.bind(elsewhere, "gpt-5.6-sol", models=own).profile.family == "breakpoint"


@pytest.mark.parametrize(
    ("url", "api", "path"),
    [
        (OPENAI, "auto", "/responses"),
        ("https://eu.api.openai.com/v1", "auto", "/responses"),
        (OPENAI, "chat", "/chat/completions"),
        ("http://127.0.0.1:1/v1", "auto", "/chat/completions"),
        ("https://openai.com.example.org/v1", "auto", "/chat/completions"),
        ("http://127.0.0.1:1/v1", "responses", "/responses"),
    ],
)
def test_the_protocol_follows_the_address(url: str, api: str, path: str, bench: Any) -> None:
    assert path in repr(bench.bind(url, api=api))
