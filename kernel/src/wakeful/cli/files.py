"""Writing the files that come with wakeful: all of them or none."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from wakeful.types import ConfigError, Problem


def template(name: str) -> str:
    """Return a file that is shipped under ``cli/templates``."""
    return files("wakeful.cli").joinpath("templates", *name.split("/")).read_text(encoding="utf-8")


def write_all(contents: Mapping[Path, str], *, force: bool = False) -> None:
    """Write files; nothing is left behind if one of them cannot be written.

    Args:
        contents: path to text.
        force: overwrite files that are there.

    Raises:
        ConfigError: a file is there already, or cannot be written; names every one.
    """
    present = [path for path in contents if path.exists() or path.is_symlink()]
    if present and not force:
        raise ConfigError([Problem(str(path), "is there already; --force overwrites it") for path in present])
    written: list[Path] = []
    try:
        for path, text in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            new = path.with_name(f".{path.name}.new")
            written.append(new)
            new.write_text(text, encoding="utf-8", newline="\n")
        for path in contents:
            path.with_name(f".{path.name}.new").replace(path)
    except OSError as error:
        for path in written:
            path.unlink(missing_ok=True)
        where = str(error.filename or "") or str(next(iter(contents)))
        raise ConfigError([Problem(where, f"cannot be written: {error.strerror or error}")]) from error
