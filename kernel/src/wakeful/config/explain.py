"""Turning errors of cattrs, attrs and Python into paths and sentences."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, time

import attrs
from cattrs.errors import ClassValidationError, ForbiddenExtraKeysError, StructureHandlerNotFoundError

from wakeful.config.secrets import Secret, join
from wakeful.types import Json, nearest

#: Characters of a text that a problem shows; enough to recognise it.
SHOWN = 60
#: How similar two names must be to be taken for a misspelling (0 to 1), where both could be meant.
SIMILAR = 0.8

#: A path below the value, what is wrong there, and whether the sentence may hold a value of the file.
Finding = tuple[str, str, bool]


class WrongValueError(Exception):
    """A value, or values below it, of the wrong kind.

    Args:
        findings: what is wrong; each sentence is ours and holds no secret unless it says so.
    """

    def __init__(self, findings: Iterable[Finding]) -> None:
        """Keep the findings."""
        self.findings = tuple(findings)
        super().__init__("; ".join(what for _, what, _ in self.findings))


def wrong(expected: str, value: Json, hint: str = "") -> WrongValueError:
    """Return the error ``expected …, got …``."""
    return WrongValueError([("", f"expected {expected}, got {shown(value)}{hint}", False)])


def shown(value: Json) -> str:
    """Return a value for a problem: its kind, and itself where it is short. Never a secret."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        text = value.written if isinstance(value, Secret) else value
        return (
            f"the string {json.dumps(text if len(text) <= SHOWN else text[:SHOWN] + '…', ensure_ascii=False)}"
        )
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list"
    return "a date or time" if isinstance(value, date | time) else f"a {type(value).__name__}"


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` or an empty string, but never the list of names."""
    hint = nearest(word, names)
    return hint if hint.startswith("; did you mean") else ""


def misspelling(word: str, names: Iterable[str]) -> str | None:
    """Return the name of which ``word`` is most likely a misspelling, if there is one."""
    close = difflib.get_close_matches(word, sorted(set(names)), n=1, cutoff=SIMILAR)
    return close[0] if close else None


def explain(error: BaseException) -> Iterator[Finding]:
    """Yield what an error of structuring means, each with its path below the structured value."""
    if isinstance(error, WrongValueError):
        yield from error.findings
    elif isinstance(error, ClassValidationError):
        yield from _explain_class(error)
    elif isinstance(error, StructureHandlerNotFoundError):
        yield "", f"a setting of the type {hint_name(error.type_)} is not supported", False
    else:
        yield "", _sentence(error), True


def _explain_class(error: ClassValidationError) -> Iterator[Finding]:
    known = {field.name: field for field in attrs.fields(error.cl) if field.init}
    below, above = error.group_exceptions()
    for inner, note in below:
        if isinstance(inner, KeyError) and inner.args == (note.name,):
            yield join("", note.name), "missing", False
            continue
        for path, what, foreign in explain(inner):
            yield below_path(note.name, path), what, foreign
    for inner in above:
        if isinstance(inner, ForbiddenExtraKeysError):
            for key in sorted(inner.extra_fields):
                yield join("", key), f"unknown setting{nearest(key, known)}", False
            continue
        if isinstance(inner, WrongValueError):
            yield from inner.findings
            continue
        # A validator of attrs: the message starts with the quoted name of its field.
        # It ends with the value, which may be a secret: hence the True.
        text = _sentence(inner)
        match = re.match(r"'(\w+)' ", text)
        if match and match[1] in known:
            yield match[1], text[match.end() :], True
        else:
            yield "", text, True


def below_path(where: str, path: str) -> str:
    """Return ``path`` appended to ``where``."""
    if not where or not path:
        return where or path
    return f"{where}{path}" if path.startswith("[") else f"{where}.{path}"


def hint_name(hint: object) -> str:
    """Return a type as it is written."""
    return hint.__qualname__ if isinstance(hint, type) else str(hint)


def _sentence(error: BaseException) -> str:
    """Return the text of an error in one line, with its type unless it is about a value."""
    told = error.args[0] if error.args and isinstance(error.args[0], str) else str(error)
    text = " ".join(str(told).split())
    if isinstance(error, ValueError | TypeError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
