"""``${env:NAME}`` in the values of a configuration file.

A value that came from the environment is a secret: problems show what stands in the file, never the
value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Self

from wakeful.types import Json, nearest

_REFERENCE = re.compile(r"\$\{env:([^}]*)(\}?)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


#: Length in characters from which a value is taken out of problems.
SHORTEST = 4


class Secret(str):
    """A text with values of the environment in it. Its ``repr`` is what stands in the file.

    Args:
        value: the text as it is used.
        written: the text as it stands in the file, e.g. ``Bearer ${env:TOKEN}``.
        parts: the values that were filled in.
    """

    __slots__ = ("parts", "written")

    written: str
    parts: tuple[str, ...]

    def __new__(cls, value: str, written: str, parts: Sequence[str]) -> Self:
        """Return the text with its origin."""
        self = super().__new__(cls, value)
        self.written, self.parts = written, tuple(parts)
        return self

    def __repr__(self) -> str:
        """Return the quoted text as it stands in the file."""
        return repr(self.written)


def substitute(value: Json, where: str, env: Mapping[str, str], report: Callable[[str, str], None]) -> Json:
    """Return ``value`` with every ``${env:NAME}`` in its texts filled in.

    Args:
        value: a table, list or scalar of the file; keys are left alone.
        where: the path of ``value``, for problems.
        env: the environment.
        report: called with (path, what is wrong) for variables that are not set.
    """
    if isinstance(value, Mapping):
        return {key: substitute(item, join(where, key), env, report) for key, item in value.items()}
    if isinstance(value, list):
        return [substitute(item, f"{where}[{index}]", env, report) for index, item in enumerate(value)]
    if not isinstance(value, str) or "${env:" not in value:
        return value
    parts: list[str] = []

    def fill(match: re.Match[str]) -> str:
        name, closed = match.groups()
        if not closed or not _NAME.fullmatch(name):
            report(where, f"cannot read {match[0]!r}; expected ${{env:NAME}}")
        elif name not in env:
            near = nearest(name, env) if env else ""
            hint = near if near.startswith("; did you mean") else ""
            report(where, f"the environment variable {name} is not set{hint}")
        else:
            parts.append(env[name])
        return parts[-1] if parts else ""

    return Secret(_REFERENCE.sub(fill, value), value, parts)


def secrets_in(value: Json) -> Iterator[Secret]:
    """Yield every secret in a table, list or scalar."""
    if isinstance(value, Secret):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from secrets_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from secrets_in(item)


def redact(text: str, secrets: Sequence[Secret]) -> str:
    """Return ``text`` without the values of ``secrets``, whole or in part, quoted or not.

    Values below ``SHORTEST`` characters stay: they are no secrets, and are found in ordinary words.
    """
    shown: dict[str, str] = {}
    for secret in secrets:
        for value in (str(secret), *secret.parts):
            shown.setdefault(value, secret.written)
            shown.setdefault(repr(value)[1:-1], secret.written)
    hidden = (each for each in shown if len(each) >= SHORTEST)
    longest_first = sorted(hidden, key=lambda each: (-len(each), each))
    if not longest_first:
        return text
    found = re.compile("|".join(map(re.escape, longest_first)))
    return found.sub(lambda match: shown[match[0]], text)


def join(where: str, key: str) -> str:
    """Return the path of ``key`` below ``where``, quoted as in TOML if it must be."""
    word = key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else f'"{key}"'
    return f"{where}.{word}" if where else word
