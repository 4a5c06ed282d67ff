"""The shape of the repository: who may import whom, versions, sizes, and what no file may name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import wakeful
from tests.imports import decided_strings, imports, package_of, upward
from tests.layout import ROOT, Distribution, distributions, kernel, migrations, plugins, tracked

LINES = 320
#: Part of no file: machines' folders and hosts of package registries. Written so as not to match themselves.
MACHINE = re.compile(r"(?<![\w.$}])/(?:wor[k]|roo[t]|hom[e]/\w+)/")
HOST = re.compile(
    r"pypi[.]org|pythonhosted[.]org|npmjs[.](?:org|com)|deb[.]debian[.]org|index[-]url", re.IGNORECASE
)

each = pytest.mark.parametrize("distribution", distributions(), ids=lambda d: d.name)
each_plugin = pytest.mark.parametrize("distribution", plugins(), ids=lambda d: d.name)


def test_kernel_modules_import_downwards() -> None:
    assert upward(kernel().source, vars(wakeful)["_WHERE"]) == []


def test_an_upward_import_is_noticed(tmp_path: Path) -> None:
    source = tmp_path / "wakeful"
    for name, text in {
        "types/run.py": "import typing\nif typing.TYPE_CHECKING:\n    from wakeful.loop import Loop\n",
        "tools/check.py": "def f():\n    from ..prompt import layout\n",
        "store/engine.py": "from wakeful import open, __version__\nimport wakeful.types\n",
        "loop/turn.py": "import wakeful.testing.clock\nfrom wakeful.tools import check\n",
        "novel.py": "",
    }.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    assert upward(source, {"open": "wakeful.app"}) == [
        "loop/turn.py:1: loop imports testing",
        "novel.py: 'novel' has no level; place it in tests/imports.py",
        "store/engine.py:1: store imports app",
        "tools/check.py:2: tools imports prompt",
        "types/run.py:3: types imports loop",
    ]


def _outside_testing() -> list[Path]:
    source = kernel().source
    return [path for path in kernel().modules() if path.relative_to(source).parts[0] != "testing"]


def test_kernel_imports_no_plugin() -> None:
    allowed = (kernel().package, migrations().package)
    found = [
        f"{path.name}:{seen.line}: {seen.module}"
        for path in _outside_testing()
        for seen in imports(path, package_of(path, kernel().source))
        if seen.module.startswith("wakeful") and seen.module.split(".")[0] not in allowed
    ]
    assert found == []


def test_kernel_branches_on_no_plugin_name() -> None:
    names = {name for plugin in plugins() for name in plugin.switches}
    assert names
    found = [
        f"{path.name}:{line}: {text!r}"
        for path in _outside_testing()
        for line, text in decided_strings(path)
        if text.removesuffix(":").removesuffix(".") in names
    ]
    assert found == []


def test_a_branch_on_a_name_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(
        "if scheme == 'replay': pass\n"
        "x = 1 if name in ('a', 'records') else 2\n"
        "text.startswith('replay:')\n"
        "match name:\n    case 'policy': pass\n"
        "kept = 'not decided by'\n"
    )
    assert {text for _, text in decided_strings(path)} == {"a", "policy", "records", "replay", "replay:"}


def test_only_the_facade_touches_pluggy() -> None:
    users = {
        path.relative_to(kernel().source).as_posix()
        for path in _outside_testing()
        for seen in imports(path, package_of(path, kernel().source))
        if seen.module.split(".")[0] == "pluggy"
    }
    assert {user for user in users if not user.startswith("plugins/")} == {"hookspecs.py"}


@each_plugin
def test_plugins_meet_through_the_kernel(distribution: Distribution) -> None:
    others = {other.package for other in plugins()} - {distribution.package}
    found = [
        f"{path.name}:{seen.line}: {seen.module}"
        for path in distribution.modules()
        for seen in imports(path, package_of(path, distribution.source))
        if seen.module.split(".")[0] in others
    ]
    assert found == []


@each
def test_types_are_shipped(distribution: Distribution) -> None:
    assert (distribution.source / "py.typed").is_file()


@each
def test_one_version_for_all(distribution: Distribution) -> None:
    assert distribution.pyproject["project"]["version"] == wakeful.__version__


@each
def test_members_require_each_other_within_the_minor_version(distribution: Distribution) -> None:
    version = Version(wakeful.__version__)
    expected = f"<{version.major}.{version.minor + 1},>={version.major}.{version.minor}"
    members = {other.name for other in distributions()}
    wanted = [Requirement(text) for text in distribution.pyproject["project"].get("dependencies", [])]
    ranges = {r.name: str(r.specifier) for r in wanted if r.name in members}
    assert ranges == dict.fromkeys(ranges, expected)
    assert distribution.name == migrations().name or ranges, "requires no part of wakeful"


@each
def test_metadata_is_complete(distribution: Distribution) -> None:
    project = distribution.pyproject["project"]
    assert project["requires-python"] == ">=3.11"
    assert project["license"] == "Apache-2.0"
    assert project["description"]
    assert (distribution.folder / project["readme"]).is_file()


def test_no_module_is_long() -> None:
    long = {
        path.relative_to(ROOT).as_posix(): lines
        for path in tracked()
        if path.suffix == ".py" and (lines := len(path.read_text(encoding="utf-8").splitlines())) > LINES
    }
    assert long == {}


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = [
        f"{path}:{number}: {line.strip()[:100]}"
        for path in tracked()
        if path.suffix not in {".png", ".ico", ".db"}
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if MACHINE.search(line) or HOST.search(line)
    ]
    assert found == []
