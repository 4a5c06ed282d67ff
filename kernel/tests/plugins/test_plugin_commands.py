"""Commands of plugins are listed from metadata and imported when they are used."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from wakeful.plugins.commands import CommandEntry, installed_commands, load_command
from wakeful.types import ConfigError, NotFoundError


def install(folder: Path, name: str, command: str, source: str) -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nSummary: Does {command}\n"
    )
    (info / "entry_points.txt").write_text(f"[wakeful.commands]\n{command} = {name}:run\n")
    (folder / f"{name}.py").write_text(source)
    importlib.invalidate_caches()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_commands_are_listed_without_importing_anything(site: Path) -> None:
    install(site, "wkc_greet", "greet-all", "raise RuntimeError\n")
    assert (
        CommandEntry("greet-all", "wkc_greet:run", "wkc_greet", "1.0", "Does greet-all")
        in installed_commands()
    )
    assert "wkc_greet" not in sys.modules


def test_a_command_is_imported_when_it_is_used(site: Path) -> None:
    install(site, "wkc_used", "use-it", "def run(): return 'ran'\n")
    assert load_command("use-it")() == "ran"


def test_an_unknown_command_names_the_nearest_of_all_commands(site: Path) -> None:
    install(site, "wkc_near", "approvals-all", "")
    with pytest.raises(NotFoundError, match="no command 'aprovals-all'; did you mean 'approvals-all'"):
        load_command("aprovals-all")
    with pytest.raises(NotFoundError, match="no command 'docter'; did you mean 'doctor'"):
        load_command("docter", builtin=["doctor"])


def test_two_owners_are_listed_and_named_when_the_command_is_used(site: Path) -> None:
    install(site, "wkc_one", "twice", "")
    install(site, "wkc_two", "twice", "")
    owners = [each.distribution for each in installed_commands() if each.name == "twice"]
    assert owners == ["wkc_one", "wkc_two"]
    with pytest.raises(
        ConfigError, match=r"'twice': provided by wkc_one 1.0 and wkc_two 1.0; uninstall all but one"
    ):
        load_command("twice")


def test_a_command_that_cannot_be_imported_says_why_in_one_line(site: Path) -> None:
    install(site, "wkc_broken", "break-it", "raise ValueError('two\\nlines')\n")
    with pytest.raises(ConfigError) as caught:
        load_command("break-it")
    assert str(caught.value) == (
        "command 'break-it': importing wkc_broken 1.0: wkc_broken:run failed with ValueError: two lines"
    )
