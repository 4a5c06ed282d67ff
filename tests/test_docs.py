"""The documentation: its examples run, its snippets parse, its links lead somewhere."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.layout import ROOT
from wakeful.config import load_config

DOCS = ROOT / "docs"
EXAMPLES = DOCS / "examples"
PAGES = sorted(
    [*ROOT.glob("*.md"), *DOCS.glob("**/*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("*/*/README.md")]
)
UV = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
#: Seconds that any command on a page may take, on a busy machine.
PATIENCE = 180
PROGRAM = str(Path(sys.executable).with_name("wakeful"))
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


def blocks(page: Path, language: str) -> list[str]:
    return [text for name, text in FENCE.findall(page.read_text(encoding="utf-8")) if name == language]


def values(text: str) -> list[Any]:
    """Return the JSON values that stand one after the other in a text."""
    found, at = [], 0
    while at < len(text):
        value, at = json.JSONDecoder().raw_decode(text, at)
        at += len(text[at:]) - len(text[at:].lstrip())
        found.append(value)
    return found


def printed(folder: Path, *command: str, env: Mapping[str, str] | None = None) -> str:
    """Run a command in a folder and return what it prints; it must succeed, and in time."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def run_wakeful(folder: Path, *arguments: str) -> Any:
    """Run the command line in a folder and return what it prints as JSON."""
    return json.loads(printed(folder, PROGRAM, *arguments, "--json"))


@pytest.mark.parametrize("heading", ["Run it", "Test it"])
def test_the_readme_has_one_command_under_its_headings(heading: str) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count(f"\n## {heading}\n") == 1
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    assert section.count("```") == 2
    (_, command), *_ = FENCE.findall(section)
    assert len(command.splitlines()) == 1
    assert command.startswith("python3.11 -m venv ")


@each_page
def test_snippets_parse(page: Path) -> None:
    for text in blocks(page, "toml"):
        tomllib.loads(text)
    for text in [*blocks(page, "json"), *blocks(page, "jsonl")]:
        values("\n".join(line for line in text.splitlines() if not line.startswith("#")))
    for text in blocks(page, "python"):
        compile(text, str(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@each_page
def test_links_lead_to_files(page: Path) -> None:
    links = [link.split("#")[0] for link in LINK.findall(page.read_text(encoding="utf-8"))]
    missing = [link for link in links if link and "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_every_example_is_on_a_page() -> None:
    included = {
        (page.parent / path).resolve()
        for page in PAGES
        for path in re.findall(r"literalinclude} (\S+)", page.read_text(encoding="utf-8"))
    }
    files = {path for path in EXAMPLES.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert files == included


def test_the_action_example_answers(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(EXAMPLES / "action", tmp_path / "action"))
    answer = run_wakeful(folder, "run", "desk", "Who in EMEA owes us money on the first of May?")
    assert answer["status"] == "completed"
    assert answer["text"].startswith("Aurora Bakery owes us 1240.50")


def test_the_script_example_answers(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(EXAMPLES / "script", tmp_path / "script"))
    answer = run_wakeful(folder, "run", "shop", "Is the blue lamp in stock?")
    assert answer["text"] == "Yes, three of them."


def test_the_tutorial_goes_as_it_says(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    printed(tmp_path, PROGRAM, "demo", "--folder", "shop", "--setup")
    for path in (EXAMPLES / "tutorial").glob("clerk.*"):
        shutil.copy(path, shop)
    shutil.copy(EXAMPLES / "tutorial" / "letters.py", shop)
    options = ("--file", "clerk.toml", "--conversation", "phones")
    answer = run_wakeful(shop, "run", "clerk", "Which customers have no phone number?", *options)
    assert answer["text"] == "One customer has no phone number: Bakker Bikes in Utrecht."
    answer = run_wakeful(shop, "run", "clerk", "Write to them.", *options)
    assert answer["text"] == "The letter to Bakker Bikes lies in drafts/bakker-bikes.txt."
    assert (shop / "drafts" / "bakker-bikes.txt").read_text(encoding="utf-8").startswith("Dear Joost")
    runs = run_wakeful(shop, "runs", "list", "--file", "clerk.toml")["runs"]
    shown = json.dumps(run_wakeful(shop, "runs", "show", runs[0]["id"], "--file", "clerk.toml"))
    assert "UNKNOWN_ARGUMENT" in shown


def test_the_embedding_example_answers(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(EXAMPLES / "embed", tmp_path / "embed"))
    lines = printed(folder, sys.executable, "ask.py").splitlines()
    assert (lines[0], lines[-2], lines[-1]) == ("RunStarted", "RunEnded", "You are welcome.")


def test_the_configuration_example_is_valid(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(EXAMPLES / "configuration", tmp_path / "configuration"))
    (folder / "desk.md").write_text("You answer questions about customers.\n", encoding="utf-8")
    config = load_config(folder / "wakeful.toml")
    assert config.agents["desk"].plugins == ("records",)
    assert config.agents["desk"].instructions.startswith("You answer")
    assert config.agents["night"].plugins == ()


def test_a_plugin_in_four_commands(tmp_path: Path) -> None:
    """From nothing to a tested, enabled plugin in a conversation, in an environment of its own."""
    commands = (EXAMPLES / "plugin" / "hello.sh").read_text(encoding="utf-8").splitlines()
    assert len(commands) == 4
    place = tmp_path / "environment"
    printed(tmp_path, sys.executable, "-m", "venv", str(place))
    python = str(place / "bin" / "python")
    members = [word for name in ("migrations", "kernel", "plugins/replay") for word in ("-e", f"./{name}")]
    quick = [UV, "pip", "install", "--python", python] if UV else [python, "-m", "pip", "install"]
    printed(ROOT, *quick, *members, env=os.environ | {"UV_NO_SOURCES": "1"})
    outside = {
        name: text for name, text in os.environ.items() if not name.startswith(("PYTEST_", "WAKEFUL_"))
    }
    inside = outside | {"PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    said = [printed(tmp_path, "bash", "-c", command, env=inside) for command in commands]
    assert "I have greeted Ada." in said[-1]
