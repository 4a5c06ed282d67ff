"""Patterns that a model wrote. One engine everywhere, which takes linear time: RE2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, cast

from wakeful.types import ActionError

#: Longest pattern, in characters.
LONGEST = 1000
#: Bytes of memory that one compiled pattern may take.
MEMORY = 8 << 20


class Match(Protocol):
    """What is used of a match: places are in bytes."""

    def start(self) -> int:
        """Return where it begins."""
        ...

    def end(self) -> int:
        """Return where it ends."""
        ...

    def groupdict(self) -> dict[str, bytes | None]:
        """Return the named groups."""
        ...


class Pattern(Protocol):
    """A compiled pattern over bytes of UTF-8."""

    def search(self, text: bytes) -> Match | None:
        """Return the first match."""
        ...

    def fullmatch(self, text: bytes) -> Match | None:
        """Return the match of the whole text."""
        ...

    def finditer(self, text: bytes) -> Iterator[Match]:
        """Yield the matches, none overlapping another."""
        ...


def compiled(
    pattern: str, *, ignore_case: bool = True, literal: bool = False, lines: bool = False
) -> Pattern:
    """Return a pattern, to be used on bytes.

    Args:
        pattern: RE2 syntax: as usual, without look-around and back-references.
        ignore_case: whether case does not matter.
        literal: whether it is to be found as it stands.
        lines: whether ``^`` and ``$`` are the ends of lines.

    Raises:
        ActionError: INVALID_PATTERN, with what RE2 says.
    """
    import re2  # type: ignore[import-untyped]  # ships no types

    if len(pattern) > LONGEST:
        raise _invalid(pattern[:40] + "…", f"it has more than {LONGEST} characters")
    options: Any = re2.Options()
    options.case_sensitive, options.literal = not ignore_case, literal
    options.log_errors, options.max_mem = False, MEMORY
    flags = "(?m)" if lines and not literal else ""
    try:
        return cast("Pattern", re2.compile((flags + pattern).encode("utf-8", "replace"), options))
    except re2.error as error:
        said = error.args[0] if error.args else error
        said = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise _invalid(pattern, said.replace(flags + pattern, pattern)) from None


def _invalid(pattern: str, why: str) -> ActionError:
    return ActionError(
        "INVALID_PATTERN",
        f"{pattern!r} is no pattern: {why}",
        suggestion="RE2 has no look-around and no back-references; "
        "a backslash before . * ( [ finds them as they are.",
    )
