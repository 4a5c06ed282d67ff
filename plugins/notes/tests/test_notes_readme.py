"""The settings of the README are what the plugin takes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from wakeful.config import structure
from wakeful_notes import NotesSettings

README = Path(__file__).parents[1] / "README.md"


def test_the_example_of_the_readme_is_taken() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    found = tomllib.loads(example)
    assert found["plugins"]["enable"] == ["notes"]
    settings = structure(NotesSettings, found["agents"]["desk"]["plugins"]["notes"], "README.md")
    assert settings == NotesSettings(max_chars=1500, writes=5, days=14)
