"""Read what Python files import and compare, without running them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

#: Kernel modules import from lower levels only; modules of one level do not know each other.
LEVELS = (
    {"types"},
    {"config", "store", "system"},
    {"waiting"},
    {"hookspecs"},
    {"plugins"},
    {"models", "perception", "policy", "prompt", "results", "runtime", "tools"},
    {"loop"},
    {"app"},
    {"cli"},
    {"__main__"},
)
LEVEL = {name: level for level, names in enumerate(LEVELS) for name in names}
#: The test kit sees everything and is seen by nothing.
FREE = "testing"


@frozen
class Import:
    """One imported module: ``module`` is absolute, ``names`` what is taken from it (none: ``import x``)."""

    line: int
    module: str
    names: tuple[str, ...] = ()


def imports(path: Path, package: str) -> Iterator[Import]:
    """Yield every import of a file, inside functions and ``TYPE_CHECKING`` too.

    Args:
        path: the file.
        package: dotted name of the package that holds it, for relative imports.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield Import(node.lineno, module, tuple(alias.name for alias in node.names))


def package_of(path: Path, source: Path) -> str:
    """Return the dotted package that holds ``path``; ``source`` is the folder of the top package."""
    return ".".join([source.name, *path.parent.relative_to(source).parts])


def upward(source: Path, lazy: dict[str, str]) -> list[str]:
    """Return each import of the kernel that does not go down, as ``file:line: text``.

    Args:
        source: the folder of the package ``wakeful``.
        lazy: the public names of ``wakeful`` and the modules they come from.
    """
    found = []
    for path in sorted(source.rglob("*.py")):
        inside = path.relative_to(source)
        part = inside.parts[0].removesuffix(".py")
        if part in {"__init__", FREE}:
            continue
        if part not in LEVEL:
            found.append(f"{inside}: {part!r} has no level; place it in tests/imports.py")
            continue
        for seen in imports(path, package_of(path, source)):
            found += [
                f"{inside}:{seen.line}: {part} imports {target}"
                for target in sorted(_parts(seen, source.name, lazy))
                if target != part and (target == FREE or LEVEL.get(target, -1) >= LEVEL[part])
            ]
    return found


def _parts(seen: Import, top: str, lazy: dict[str, str]) -> set[str]:
    """Return the parts of the kernel that an import reaches."""
    if seen.module.startswith(f"{top}."):
        return {seen.module.split(".")[1]}
    if seen.module != top:
        return set()
    homes = {lazy.get(name, f"{top}.{name}") for name in seen.names if name != "__version__"}
    return {home.split(".")[1] for home in homes} or ({"app"} if not seen.names else set())


def decided_strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of the strings that a file compares with, matches on or branches by."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        places: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            places = [node.left, *node.comparators]
        elif isinstance(node, ast.match_case):
            places = [node.pattern]
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            places = [node.test]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            places = list(node.args) if node.func.attr in {"startswith", "endswith", "removeprefix"} else []
        for inner in (child for place in places for child in ast.walk(place)):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                yield inner.lineno, inner.value
