"""Finding plugins from metadata and importing only those that are named."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from wakeful.plugins.loader import installed, load


class Site:
    """A folder on ``sys.path`` into which distributions are installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(
        self,
        name: str,
        entries: str,
        module: str = "",
        *,
        version: str = "1.0",
        requires: tuple[str, ...] = (),
    ) -> None:
        """Install a distribution with these entry points and, if ``module`` is given, a module."""
        info = self.folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        needs = "".join(f"Requires-Dist: {each}\n" for each in requires)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
        (info / "entry_points.txt").write_text(f"[wakeful]\n{entries}\n")
        if module:
            (self.folder / f"{name.replace('-', '_')}.py").write_text(module)
        importlib.invalidate_caches()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield Site(tmp_path)
    for name in set(sys.modules) - before:
        if name.startswith("wk_"):
            del sys.modules[name]


def told(name: str) -> list[str]:
    return [str(problem) for problem in load([name]).problems.get(name, ())]


def test_a_plugin_is_listed_from_metadata_and_imported_only_when_named(site: Site) -> None:
    site.add("wk-good", "good = wk_good:Good", "class Good: ...\n")
    site.add("wk-other", "other = wk_other:Other", "raise SystemExit('never imported')\n")
    assert [entry.value for entry in installed()["good"]] == ["wk_good:Good"]
    assert "wk_good" not in sys.modules
    loaded = load(["good", "good"])
    assert loaded.classes["good"].__name__ == "Good"
    assert loaded.problems == {}
    assert loaded.distributions == {"good": "wk-good 1.0"}
    assert "wk_other" not in sys.modules


def test_the_order_is_that_of_the_names(site: Site) -> None:
    site.add("wk-b", "bb = wk_b:B", "class B: ...\n")
    site.add("wk-a", "aa = wk_a:A", "class A: ...\n")
    assert list(load(["bb", "aa"]).classes) == ["bb", "aa"]
    names = list(installed())
    assert names == sorted(names)


def test_an_unknown_plugin_names_the_nearest_and_how_to_install_it(site: Site) -> None:
    site.add("wk-good", "spillover = wk_good:Good")
    (line,) = told("spilover")
    assert line == (
        "plugin 'spilover': no installed distribution provides it; did you mean 'spillover'? "
        "(try: pip install wakeful-spilover)"
    )


def test_all_problems_are_reported_and_the_good_ones_load(site: Site) -> None:
    site.add("wk-good", "good = wk_good:Good", "class Good: ...\n")
    site.add("wk-bad", "bad = wk_bad:Bad", "import nothing_of_this_name\n")
    loaded = load(["bad", "good", "qqqqq", "enable", "disable"])
    assert list(loaded.classes) == ["good"]
    assert list(loaded.problems) == ["bad", "qqqqq", "enable", "disable"]
    assert "cannot have this name" in str(loaded.problems["enable"][0])


def test_two_distributions_with_one_plugin_are_both_named(site: Site) -> None:
    site.add("wk-two", "same = wk_two:X")
    site.add("wk-one", "same = wk_one:X", version="2.1")
    assert told("same") == ["plugin 'same': provided by wk-one 2.1 and wk-two 1.0; uninstall all but one"]


def test_an_entry_point_listed_twice_by_one_distribution_counts_once(site: Site) -> None:
    site.add("wk-good", "good = wk_good:Good\n[wakeful]\ngood = wk_good:Good", "class Good: ...\n")
    assert list(load(["good"]).classes) == ["good"]


def test_the_same_distribution_on_two_places_of_the_path_counts_once(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add("wk-good", "good = wk_good:Good", "class Good: ...\n")
    again = tmp_path / "again"
    again.mkdir()
    monkeypatch.syspath_prepend(str(again))
    Site(again).add("wk_good", "good = wk_good:Good")
    assert list(load(["good"]).classes) == ["good"]


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("attrs>=999", "needs attrs>=999, but attrs "),
        ("nothing-of-this-name>=1", "needs nothing-of-this-name>=1, which is not installed"),
        ("%%%", "has a requirement that cannot be read: '%%%'"),
    ],
)
def test_an_unmet_requirement_is_known_before_anything_is_imported(
    site: Site, requirement: str, expected: str
) -> None:
    site.add("wk-needy", "needy = wk_needy:X", "raise RuntimeError\n", requires=(requirement, "attrs>=998"))
    lines = told("needy")
    assert lines[0].startswith(f"plugin 'needy': wk-needy 1.0 {expected}")
    assert "needs attrs>=998, but attrs " in lines[1]
    assert "wk_needy" not in sys.modules


def test_requirements_of_other_platforms_and_of_extras_do_not_count(site: Site) -> None:
    requires = (
        "nothing-of-this-name; python_version < '3'",
        "nothing-of-this-name; extra == 'heavy'",
        "attrs>=20",
        "wk-self>=1.0",
    )
    site.add("wk-self", "calm = wk_self:X", "class X: ...\n", version="1.0.dev3", requires=requires[:3])
    assert list(load(["calm"]).classes) == ["calm"]


def test_a_development_version_satisfies_a_requirement_it_is_newer_than(site: Site) -> None:
    site.add("wk-base", "base = wk_base:X", "class X: ...\n", version="1.1.dev3")
    site.add("wk-top", "top = wk_top:X", "class X: ...\n", requires=("wk-base>=1.0,<2",))
    assert list(load(["top"]).classes) == ["top"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("raise ValueError('two\\nlines')\n", "failed with ValueError: two lines"),
        ("raise SystemExit(3)\n", "failed with SystemExit: 3"),
        ("class Y: ...\n", "failed with AttributeError: module 'wk_bad' has no attribute 'X'"),
        (
            "import no_such_module_here\n",
            "failed with ModuleNotFoundError: No module named 'no_such_module_here'",
        ),
        ("def X(): ...\n", "is not a class but of type function"),
        ("class X:\n    class Settings: ...\n", ".Settings is not an attrs class"),
        ("class X:\n    Settings = {}\n", ".Settings is not an attrs class"),
    ],
)
def test_a_plugin_that_cannot_be_used_says_why_in_one_line(site: Site, source: str, expected: str) -> None:
    site.add("wk-bad", "bad = wk_bad:X", source)
    (line,) = told("bad")
    assert "wk-bad 1.0: wk_bad:X" in line
    assert expected in line
    assert "\n" not in line


def test_an_interrupt_while_importing_is_not_swallowed(site: Site) -> None:
    site.add("wk-bad", "bad = wk_bad:X", "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load(["bad"])


def test_settings_that_are_an_attrs_class_are_fine(site: Site) -> None:
    source = "import attrs\n@attrs.frozen\nclass S:\n    a: int = 1\nclass X:\n    Settings = S\n"
    site.add("wk-good", "good = wk_good:X", source)
    assert load(["good"]).classes["good"].__name__ == "X"
