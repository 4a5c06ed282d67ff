"""The examples of the README do what it says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from wakeful.app import open as open_app
from wakeful.config import structure
from wakeful_openai import OpenAISettings
from wakeful_openai.facts import facts_of

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
FIRST, SECOND = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)


async def test_the_first_example_answers(wire: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", wire.openai_url)
    wire.play(["Hello."])
    (tmp_path / "wakeful.toml").write_text(FIRST, encoding="utf-8")
    async with open_app(tmp_path / "wakeful.toml") as app:
        assert (await app.send("desk", "Hi")).text == "Hello."


def test_the_second_example_is_right() -> None:
    raw = tomllib.loads(SECOND)["plugins"]["openai"]
    own = structure(OpenAISettings, raw, "plugins.openai")
    facts = facts_of("qwen3:8b", own.models)
    assert (facts.window, facts.native_tools, facts.known) == (40_960, False, True)
