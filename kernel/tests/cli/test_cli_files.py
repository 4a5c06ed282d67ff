"""``init`` and ``plugin new`` write what works, or nothing."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path

import pytest

from tests.cli import Console, Wakeful
from wakeful.config import load_config
from wakeful.plugins.loader import installed


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_init_writes_a_configuration_that_loads(console: Console, wakeful: Wakeful) -> None:
    done = wakeful("init")
    assert done.code == 0
    assert "wrote wakeful.toml" in done.out
    assert set(files(console.folder)) == {"wakeful.toml", "hello.jsonl", "tools.py"}
    config = load_config(console.folder / "wakeful.toml")
    assert config.agents["assistant"].model == "replay:hello.jsonl"
    for line in (console.folder / "hello.jsonl").read_text().splitlines():
        json.loads(line)
    text = (console.folder / "wakeful.toml").read_text()
    assert "# model = " in text
    uncommented = text.replace("# [plugins.records]", "[plugins.records]").replace('# url = "', 'url = "')
    assert tomllib.loads(uncommented)["plugins"]["records"]["url"] == "sqlite:///company.db"


def test_init_never_overwrites(console: Console, wakeful: Wakeful) -> None:
    console.write("tools.py", "mine = True\n")
    done = wakeful("init")
    assert (done.code, done.errors) == (2, ["tools.py: is there already; --force overwrites it"])
    assert files(console.folder) == {"tools.py": "mine = True\n"}
    assert wakeful("init", "--force", "--json").json["written"] == ["wakeful.toml", "hello.jsonl", "tools.py"]
    assert "days_until" in files(console.folder)["tools.py"]


def test_init_in_another_folder_says_how_to_get_there(console: Console, wakeful: Wakeful) -> None:
    assert wakeful("init", "a/b", "--json").json["next"][0] == "cd a/b"
    assert (console.folder / "a/b/wakeful.toml").exists()


def test_init_says_what_its_model_needs(console: Console, wakeful: Wakeful) -> None:
    needed = [] if "replay" in installed() else ["pip install wakeful-replay"]
    assert wakeful("init", "--json").json["next"][:-3] == needed
    console.install("wk_model", "Plugin = object\n", {"replay": "Plugin"})
    assert wakeful("init", "--force", "--json").json["next"][0].startswith("wakeful run")


def test_what_cannot_be_written_leaves_nothing(console: Console, wakeful: Wakeful) -> None:
    console.write("file", "")
    done = wakeful("init", "file/below")
    assert done.code == 2
    assert "cannot be written" in done.err
    assert files(console.folder) == {"file": ""}


def test_a_new_plugin_is_small_and_typed(console: Console, wakeful: Wakeful) -> None:
    done = wakeful("plugin", "new", "say_hello", "--json")
    assert done.code == 0
    place = console.folder / "wakeful-say-hello"
    assert set(files(place)) == {
        "README.md",
        "pyproject.toml",
        "script.jsonl",
        "src/wakeful_say_hello/__init__.py",
        "src/wakeful_say_hello/py.typed",
        "tests/test_say_hello.py",
        "wakeful.toml",
    }
    project = tomllib.loads((place / "pyproject.toml").read_text())["project"]
    assert project["name"] == "wakeful-say-hello"
    assert project["entry-points"]["wakeful"] == {"say_hello": "wakeful_say_hello:SayHello"}
    assert len(own_lines(place / "src/wakeful_say_hello/__init__.py")) < 20
    assert "@" not in "".join(
        text for name, text in files(place).items() if name.endswith((".jsonl", ".toml"))
    )
    assert load_config(place / "wakeful.toml").agents["say_hello"].plugins == ("say_hello",)
    assert len(done.json["next"]) == 3


def own_lines(path: Path) -> list[str]:
    """Return the lines of code: neither blank nor a comment nor part of a docstring."""
    text = path.read_text()
    documented = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return [
        line
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#") and number not in documented
    ]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Hello", "plugin 'Hello': is no name for a plugin; expected a lower-case letter"),
        ("say-hello", "did you mean 'say_hello'?"),
        ("2fast", "is no name for a plugin"),
        ("../up", "did you mean 'up'?"),
        ("enable", "plugin 'enable': is a word of the configuration; choose another name"),
        ("taken", "plugin 'taken': is installed already, from wk-taken 1.0"),
    ],
)
def test_names_that_no_plugin_can_have(console: Console, wakeful: Wakeful, name: str, line: str) -> None:
    console.install("wk_taken", "", {"taken": "Taken"})
    before = files(console.folder)
    done = wakeful("plugin", "new", name)
    assert done.code == 2
    assert line in done.errors[0]
    assert files(console.folder) == before


def test_an_existing_folder_is_refused(console: Console, wakeful: Wakeful) -> None:
    console.write("wakeful-hello/README.md", "mine")
    done = wakeful("plugin", "new", "hello")
    assert done.errors == ["wakeful-hello: is there already; choose another name, or move it away"]
    assert files(console.folder) == {"wakeful-hello/README.md": "mine"}


def test_a_new_plugin_goes_where_it_is_told(console: Console, wakeful: Wakeful) -> None:
    done = wakeful("plugin", "new", "hello", "--in", "my plugins")
    assert (console.folder / "my plugins/wakeful-hello/pyproject.toml").exists()
    assert "python -m pip install -e './my plugins/wakeful-hello[test]'" in done.out
