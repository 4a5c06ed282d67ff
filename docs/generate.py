"""Write the generated parts of pages, as MyST; cog calls these functions from the pages.

python docs/generate.py            # write all pages anew, the README files of plugins too
python docs/generate.py --check    # exit 1 and name the pages that are not current
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import attrs

from wakeful import hookspecs, types

#: Longest line of code on a page, in characters.
WIDTH = 90
#: Headings inside docstrings.
SECTIONS = ("Args:", "Returns:", "Raises:", "Yields:")


def prose(text: str) -> str:
    """Return a docstring as markdown: sections become lists, roles plain code."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", inspect.cleandoc(text)).replace("``", "`")
    out: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.strip() in SECTIONS:
            inside = line.strip() in {"Args:", "Raises:"}
            out += [f"**{line.strip()[:-1].replace('Args', 'Arguments')}**", ""]
        elif inside and (found := re.match(r"    (\w[\w, *]*): (.*)", line)):
            names = ", ".join(f"`{name.strip()}`" for name in found[1].split(","))
            out.append(f"- {names}: {found[2]}")
        elif inside and line.startswith("    "):
            out.append("  " + line.strip())
        else:
            out.append(line.removeprefix("    "))
    return "\n".join(out).strip()


def summary(text: str | None) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join(prose(text or "").split("\n\n")[0].split())


def _asynchronous(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def signature(function: Any) -> str:
    """Return ``name(arguments) -> answer`` as it would be written in a plugin."""
    found = inspect.signature(function)
    start = f"{'async ' if _asynchronous(function) else ''}def {function.__name__}"
    arguments = list(_arguments(found.parameters.values()))
    end = f") -> {found.return_annotation}: ...".replace("'", "")
    line = f"{start}({', '.join(arguments)}{end}"
    return line if len(line) <= WIDTH else f"{start}(\n" + "".join(f"    {one},\n" for one in arguments) + end


def _arguments(parameters: Iterable[inspect.Parameter]) -> Iterator[str]:
    keyword_only = False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "*"
        kind = "" if one.annotation is one.empty else f": {one.annotation}".replace("'", "")
        default = "" if one.default is one.empty else f"{' = ' if kind else '='}{default_of(one.default)}"
        yield f"{one.name}{kind}{default}"


def fields(cls: type) -> str:
    """Return the fields of an attrs class as ``name: type = default``, or an empty string."""
    shown = []
    for field in attrs.fields(cls):
        if not field.init:
            continue
        kind = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))
        default = "" if field.default is attrs.NOTHING else f" = {default_of(field.default)}"
        shown.append(f"{field.name}: {kind}{default}")
    return "\n".join(shown)


def default_of(value: Any) -> str:
    """Return a default as it reads best."""
    if isinstance(value, attrs.Factory):  # type: ignore[arg-type]  # a class at run time
        return f"{getattr(value.factory, '__name__', 'factory')}()"
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return str(value) if attrs.has(type(value)) else repr(value)


def kinds() -> str:
    """Return the six kinds of hooks as a definition list."""
    body = (hookspecs.__doc__ or "").split("Six kinds, no others:")[1].split("``AgentHooks``")[0]
    out: list[str] = []
    for line in inspect.cleandoc(body).splitlines():
        if not line.startswith("    "):
            out.append(line)
        else:
            first = not out[-1].startswith((":", " "))
            out.append(f"{': ' if first else '  '}{line.strip()}")
    return "\n".join(out)


def hooks(owner: type) -> str:
    """Return a section per hook of ``AgentHooks`` or ``PlatformHooks``."""
    return "\n\n".join(_hook(vars(owner)[name], kind) for name, kind in hookspecs.specs(owner).items())


def _hook(function: Any, kind: hookspecs.Kind) -> str:
    return (
        f"### `{function.__name__}`\n\n*{kind.value}*\n\n```python\n{signature(function)}\n```\n\n"
        f"{prose(inspect.getdoc(function) or '')}"
    )


def classes(found: Iterable[type]) -> str:
    """Return a section per attrs class: its text and its fields."""
    return "\n\n".join(_class(cls) for cls in found)


def _is_ours(found: Any) -> bool:
    """Whether something is defined in the kernel, and not only exported by it."""
    return str(getattr(found, "__module__", "")).startswith("wakeful.")


def _class(cls: type) -> str:
    listed = fields(cls) if attrs.has(cls) else ""
    block = f"\n\n```python\n{listed}\n```" if listed else ""
    return f"### `{cls.__name__}`\n\n{prose(inspect.getdoc(cls) or '')}{block}"


def events() -> str:
    """Return a section per event, in the order of their declaration."""
    return classes(get_args(types.Event))


def errors() -> str:
    """Return a table of the errors with their exit codes."""
    found = [cls for cls in vars(types.errors).values() if inspect.isclass(cls)]
    mine = [cls for cls in found if issubclass(cls, types.WakefulError)]
    mine.sort(key=lambda cls: (cls.exit_code, cls.__name__))
    rows = [f"| `{cls.__name__}` | {cls.exit_code} | {summary(inspect.getdoc(cls))} |" for cls in mine]
    return "\n".join(["| error | exit code | meaning |", "|---|---|---|", *rows])


#: Everything that ``wakeful.types`` exports, each once: what no section below takes is not left out by that.
EXPORTED: dict[str, Any] = {name: getattr(types, name) for name in types.__all__}
_CLASSES = sorted(
    (found for found in EXPORTED.values() if inspect.isclass(found)),
    key=lambda cls: (cls.__module__, inspect.getsourcelines(cls)[1]) if _is_ours(cls) else ("", 0),
)


def _data(*modules: Any) -> list[type]:
    """Return the exported attrs classes of modules, in the order in which these define them."""
    return [cls for each in modules for cls in DATA if cls.__module__ == each.__name__]


PROTOCOLS = [cls for cls in _CLASSES if getattr(cls, "_is_protocol", False)]
ENUMS: list[type[Enum]] = [cls for cls in _CLASSES if issubclass(cls, Enum)]
ERRORS = [cls for cls in _CLASSES if issubclass(cls, types.WakefulError)]
EVENTS = [cls for cls in get_args(types.Event) if cls in _CLASSES]
DATA = [cls for cls in _CLASSES if _is_ours(cls) and cls not in {*PROTOCOLS, *ENUMS, *ERRORS, *EVENTS}]
PROMPT = _data(types.prompt)
TRANSCRIPT = _data(types.transcript)
ACTIONS = _data(types.actions)
RUNS = _data(types.run, types.context)
#: Whatever is in none of these.
OTHERS = [cls for cls in DATA if cls not in {*PROMPT, *TRANSCRIPT, *ACTIONS, *RUNS}]
FUNCTIONS = [found for found in EXPORTED.values() if inspect.isfunction(found)]


def others() -> str:
    """Return a table of what is exported and is neither a class nor a function: aliases and constants."""
    shown = {*_CLASSES} - {found for found in _CLASSES if not _is_ours(found)}
    rows = [
        f"| `{name}` | {_meaning(found)} |"
        for name, found in sorted(EXPORTED.items())
        if not inspect.isfunction(found) and not (inspect.isclass(found) and found in shown)
    ]
    return "\n".join(["| name | what it stands for |", "|---|---|", *rows])


def _meaning(found: Any) -> str:
    """Return what an alias or constant stands for, as code without the names of modules."""
    text = found.__name__ if inspect.isclass(found) else repr(found)
    plain = re.sub(r"(?:[a-z_]+\.)+(?=[A-Za-z])", "", text).replace("|", "\\|")
    return f"`{plain}`"


def with_methods(found: Iterable[type]) -> str:
    """Return a section per class: its text and its public methods."""
    return "\n\n".join(
        f"### `{cls.__name__}`\n\n{prose(inspect.getdoc(cls) or '')}\n\n{methods(cls)}" for cls in found
    )


def methods(cls: type) -> str:
    """Return the public methods of a class: signature and text of each."""
    own = [
        method
        for name, method in vars(cls).items()
        if inspect.isfunction(method) and not name.startswith("_")
    ]
    return "\n\n".join(function(method) for method in own)


def function(found: Any) -> str:
    """Return signature and text of a function."""
    return f"```python\n{signature(found)}\n```\n\n{prose(inspect.getdoc(found) or '')}"


def enums() -> str:
    """Return a section per enum: its text and its values."""
    parts = []
    for cls in ENUMS:
        members: list[Enum] = list(cls)
        values = ", ".join(f"`{member if isinstance(member, str) else member.name}`" for member in members)
        parts.append(f"### `{cls.__name__}`\n\n{prose(inspect.getdoc(cls) or '')}\n\n{values}")
    return "\n\n".join(parts)


def functions(found: Iterable[Any]) -> str:
    """Return a section per function: its signature and its text."""
    return "\n\n".join(f"### `{each.__name__}`\n\n{function(each)}" for each in found)


def commands(group: Any, path: str = "wakeful") -> str:
    """Return a section per command below a typer group: its text, usage and options."""
    parts = []
    for name, command in group.commands.items():
        full = f"{path} {name}"
        if hasattr(command, "commands"):
            parts.append(commands(command, full))
        else:
            parts.append(_command(command, full))
    return "\n\n".join(parts)


def _command(command: Any, path: str) -> str:
    shown = [one for one in command.params if not one.hidden]
    words = [one.metavar for one in shown if one.param_type_name == "argument"]
    names = [
        one.metavar
        if one.param_type_name == "argument"
        else f"{', '.join(one.opts)} {one.metavar or ''}".strip()
        for one in shown
    ]
    rows = [f"| `{name}` | {one.help or ''} |" for name, one in zip(names, shown, strict=True)]
    usage = " ".join([path, *words])
    table = "\n".join(["| argument or option | meaning |", "|---|---|", *rows])
    return f"### `{path}`\n\n{prose(command.help or '')}\n\n```bash\n{usage}\n```\n\n{table}"


def main(arguments: list[str]) -> int:
    """Run cog over every page under version control that has a generated part."""
    from cogapp import Cog  # type: ignore[import-untyped]  # it brings none

    root = Path(__file__).resolve().parent.parent
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.md"], cwd=root, capture_output=True, check=True, text=True
    )
    pages = [root / name for name in listed.stdout.split("\0") if name]
    found = [str(page) for page in pages if page.is_file() and "[[[cog" in page.read_text(encoding="utf-8")]
    mode = ["--check"] if "--check" in arguments else ["-r"]
    return int(Cog().main(["cog", *mode, "-I", str(root / "docs"), *found]) or 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
