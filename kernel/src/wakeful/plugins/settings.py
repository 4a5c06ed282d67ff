"""The documentation of a plugin's settings, taken from its attrs class."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import PurePath
from typing import Any

import attrs

_MODULE = re.compile(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])")


def settings_table(cls: type) -> str:
    """Return a markdown table of the settings: name, type, default, and ``metadata={"help": …}``.

    Args:
        cls: an attrs class, usually the ``Settings`` of a plugin.

    Returns:
        The table without a final newline, or a sentence if there are no settings.
    """
    fields = attrs.fields(cls)
    if not fields:
        return "This plugin has no settings."
    lines = ["| setting | type | default | meaning |", "|---|---|---|---|"]
    for field in fields:
        meaning = " ".join(str(field.metadata.get("help", "")).split())
        cells = (f"`{field.name}`", f"`{_type_text(field.type)}`", _default_text(field.default), meaning)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def _type_text(hint: Any) -> str:
    """Return a type as it is written in code, without its modules; alike before and after it is resolved."""
    if hint is None:
        return "any"
    if isinstance(hint, type) and not hasattr(hint, "__args__"):
        return hint.__name__
    # What stands in quotes is a literal's own text; the rest are dotted names.
    parts = re.split(r"('[^']*')", str(hint))
    return "".join(part if part.startswith("'") else _MODULE.sub("", part) for part in parts)


def _default_text(default: Any) -> str:
    """Return a default as it would be written in the file."""
    if default is attrs.NOTHING:
        return "required"
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # typed as a function in attrs' stubs
        if default.takes_self:
            return "computed"
        default = default.factory()
    if default is None:
        return "none"
    return f"`{_toml(default)}`"


def _toml(value: Any) -> str:
    if isinstance(value, Enum):
        value = value.value if isinstance(value.value, str) else value.name.lower()
    if isinstance(value, str | PurePath):
        return json.dumps(str(value), ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key} = {_toml(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, frozenset | set):
        value = sorted(value, key=str)
    if isinstance(value, Sequence):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if attrs.has(type(value)):
        return _toml(attrs.asdict(value, recurse=False))
    return str(value)
