"""Each conformance check passes for a good plugin and fails, helpfully, for a bad one."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from kernel.tests.testing.bad_plugins import BAD, GOOD, hurt
from wakeful.plugins.settings import settings_table
from wakeful.testing import PluginConformance
from wakeful.testing.subjects import Subject


class Shop:
    """Makes throw-away distributions of one plugin each and runs checks against them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made = folder, 0

    def plugin(
        self, source: str, *, typed: bool = True, readme: str | None = None
    ) -> type[PluginConformance]:
        """Install a plugin of this source and return its conformance class."""
        self.made += 1
        name = f"wkc{self.made}"
        package = self.folder / name
        package.mkdir()
        (package / "__init__.py").write_text(source)
        if typed:
            (package / "py.typed").touch()
        info = self.folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[wakeful]\n{name} = {name}:Plugin\n")
        importlib.invalidate_caches()
        if readme is None:
            settings = getattr(importlib.import_module(name).Plugin, "Settings", None) if typed else None
            readme = settings_table(settings) if settings is not None else ""
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n\n{readme}\n")
        return type(f"Test{name}", (PluginConformance,), {"plugin": name})


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    yield Shop(site)
    for name in [name for name in sys.modules if name.startswith("wkc")]:
        del sys.modules[name]


Check = Callable[[type[PluginConformance], str], None]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Run one check of a conformance class."""

    def run(cls: type[PluginConformance], name: str) -> None:
        folder = tmp_path / "work"
        folder.mkdir(exist_ok=True)
        suite = cls()
        getattr(suite, name)(suite.subject_in(folder))

    return run


CHECKS = sorted(name for name in vars(PluginConformance) if name.startswith("test_"))


@pytest.mark.parametrize("name", CHECKS)
def test_a_good_plugin_passes(shop: Shop, check: Check, name: str) -> None:
    check(shop.plugin(GOOD), name)


@pytest.mark.parametrize("case", BAD)
def test_a_bad_plugin_fails(shop: Shop, check: Check, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, source, message = BAD[case]
    monkeypatch.setattr("wakeful.testing.conformance.PATIENCE", 0.05)
    cls = shop.plugin(source, readme="")
    with pytest.raises(AssertionError) as caught:
        check(cls, name)
    text = str(caught.value)
    assert message in text
    assert cls.plugin in text


def test_a_plugin_that_is_imported_although_off_fails(shop: Shop, check: Check) -> None:
    cls = shop.plugin(GOOD)
    (shop.folder / "sitecustomize.py").write_text(f"import {cls.plugin}\n")
    with pytest.raises(AssertionError, match="is imported although no agent enables it"):
        check(cls, "test_off_means_gone")


def test_a_package_without_its_types_fails(shop: Shop, check: Check) -> None:
    cls = shop.plugin(GOOD, typed=False)
    with pytest.raises(AssertionError, match=r"py\.typed is missing; add an empty file"):
        check(cls, "test_it_ships_its_types")


@pytest.mark.parametrize("readme", ["", "# Greetings\n\n| setting | type | default | meaning |"])
def test_a_readme_that_is_behind_fails(shop: Shop, check: Check, readme: str) -> None:
    cls = shop.plugin(GOOD, readme=readme)
    with pytest.raises(AssertionError, match="README"):
        check(cls, "test_its_readme_is_current")


def test_a_name_that_two_distributions_claim_fails(shop: Shop, check: Check) -> None:
    first, second = shop.plugin(GOOD), shop.plugin(GOOD)
    entries = shop.folder / f"{second.plugin}-1.0.dist-info" / "entry_points.txt"
    entries.write_text(f"[wakeful]\n{first.plugin} = {second.plugin}:Plugin\n")
    importlib.invalidate_caches()
    with pytest.raises(AssertionError, match=r"expected one entry point .* found 2"):
        check(first, "test_importing_it_does_nothing_else")


def test_every_check_has_a_bad_plugin() -> None:
    elsewhere = {"test_it_ships_its_types", "test_its_readme_is_current"}
    assert {name for name, _, _ in BAD.values()} | elsewhere == set(CHECKS)


def test_settings_that_have_no_default_are_given(shop: Shop, check: Check) -> None:
    source = hurt(
        'field(default="Hello", metadata={"help": "the first word"})', 'field(metadata={"help": "word"})'
    )
    bare = shop.plugin(source)
    with pytest.raises(AssertionError, match="greeting"):
        check(bare, "test_it_leaves_no_task_behind")
    made: list[Path] = []

    class Given(bare):  # type: ignore[misc, valid-type]  # the base is handed in
        settings: ClassVar = {"greeting": 'Good "day"', "names": ["a", "b"]}

        def prepare(self, folder: Path) -> None:
            made.append(folder)

    given = ("test_its_settings_are_documented", "test_it_leaves_no_task_behind", "test_off_means_gone")
    for name in given:
        check(Given, name)
    assert len(made) == len(given)


def test_it_runs_under_pytest_as_users_write_it(shop: Shop, tmp_path: Path) -> None:
    cls = shop.plugin(GOOD)
    (tmp_path / "test_mine.py").write_text(
        "from wakeful.testing import PluginConformance\n"
        f"class TestIt(PluginConformance):\n    plugin = {cls.plugin!r}\n"
    )
    some = "hooks or actions or settings or types or readme"  # the others are tried one by one above
    options = ["-q", "-p", "no:asyncio", "-p", "no:cacheprovider", "-W", "error", "-k", some]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(shop.folder), *sys.path])}
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert "5 passed" in done.stdout, done.stdout


def test_subject_names_the_package(shop: Shop, tmp_path: Path) -> None:
    cls: Any = shop.plugin(GOOD)
    subject = Subject(cls.plugin, {}, tmp_path)
    assert subject.package == cls.plugin
    assert subject.root == shop.folder / cls.plugin
