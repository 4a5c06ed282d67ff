"""The settings of the README and of the how-to page are what the plugin takes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from wakeful.config import structure
from wakeful_taint import TaintSettings

README = Path(__file__).parents[1] / "README.md"


def test_the_example_of_the_readme_is_taken() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    found = tomllib.loads(example)
    assert found["plugins"]["enable"] == ["taint", "policy"]
    settings = structure(TaintSettings, found["agents"]["desk"]["plugins"]["taint"], "README.md")
    assert settings == TaintSettings("balanced", ("docs.example.com",), ("ana@example.com", "*@example.org"))
