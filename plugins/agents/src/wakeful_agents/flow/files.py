"""The file of a flow."""

from __future__ import annotations

from pathlib import Path

from wakeful.types import ConfigError, Problem, nearest
from wakeful_agents.flow.model import Flow
from wakeful_agents.flow.read import read_flow


def read_file(path: Path, where: str) -> Flow:
    """Read and check a flow.

    Raises:
        ConfigError: the file cannot be read, or everything that is wrong in it.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        folder = path.parent
        names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
        raise ConfigError([Problem(where, f"there is no such file{nearest(path.name, names)}")]) from None
    except OSError as error:
        raise ConfigError([Problem(where, f"cannot be read: {error.strerror or error}")]) from None
    except UnicodeDecodeError as error:
        what = f"is no UTF-8 text: {error.reason} at byte {error.start}"
        raise ConfigError([Problem(where, what)]) from None
    return read_flow(text, where)
