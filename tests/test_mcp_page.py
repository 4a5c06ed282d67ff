"""The page about MCP servers goes as it says, and so does the README's configuration."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

from tests.layout import ROOT
from tests.test_docs import EXAMPLES, PROGRAM, printed, run_wakeful
from wakeful.config import structure
from wakeful_mcp import McpSettings


def test_the_example_goes_as_it_says(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(EXAMPLES / "mcp", tmp_path / "mcp"))
    place = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    said = printed(folder, PROGRAM, "mcp", "accept", "clock", env=place)
    assert "clock: 1 tool accepted in mcp.lock.json" in said
    assert "read" in printed(folder, PROGRAM, "mcp", "list", env=place)
    answer = printed(folder, PROGRAM, "run", "desk", "Which day is the first of May?", env=place)
    assert "The first of May is a Friday." in answer
    runs = run_wakeful(folder, "runs", "list")["runs"]
    assert "Friday" in str(run_wakeful(folder, "runs", "show", runs[0]["id"]))


def test_the_configuration_of_the_readme_is_valid() -> None:
    text = (ROOT / "contrib" / "mcp" / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    table = tomllib.loads(block)["agents"]["desk"]["plugins"]["mcp"]
    settings = structure(McpSettings, table, "plugins.mcp")
    assert set(settings.servers) == {"time", "tracker"}
