"""The examples of the README do what it says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from wakeful.app import open as open_app
from wakeful.config import structure
from wakeful_anthropic import AnthropicSettings, facts_of
from wakeful_anthropic.reply import STOPS

from .conftest import KEY

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)


async def test_the_first_example_answers(wire: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", wire.url)
    wire.play(["Hello."], api_key=KEY)
    (tmp_path / "wakeful.toml").write_text(EXAMPLES[0], encoding="utf-8")
    async with open_app(tmp_path / "wakeful.toml") as app:
        assert (await app.send("desk", "Hi")).text == "Hello."


@pytest.mark.parametrize("example", EXAMPLES[1:])
def test_the_other_examples_are_settings(example: str) -> None:
    raw = tomllib.loads(example)["plugins"]["anthropic"]
    own = structure(AnthropicSettings, raw, "plugins.anthropic")
    assert own != AnthropicSettings()
    for name in own.models:
        facts, known = facts_of(name, own.models)
        assert (facts.window, facts.thinking, known) == (400_000, "budget", True)


def test_the_table_names_every_reason_to_stop() -> None:
    assert [reason for reason in STOPS if f"`{reason}`" not in README] == []
