"""The example of the README runs and prints what it says."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from wakeful.config import structure
from wakeful_multiplexer import MultiplexerSettings

README = Path(__file__).parent.parent / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_the_example_prints_what_it_says() -> None:
    (code,), (printed,) = blocks("python"), blocks("text")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == printed


def test_the_settings_are_what_the_plugin_takes() -> None:
    first, second = map(tomllib.loads, blocks("toml"))
    structure(MultiplexerSettings, first["agents"]["desk"]["plugins"]["multiplexer"], "first")
    own = structure(MultiplexerSettings, second["plugins"]["multiplexer"], "second")
    assert own.synonyms == {"ring": ("call", "phone")}
