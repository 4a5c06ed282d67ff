"""Questions about texts: lines that match a pattern with what is around them, or lines by number."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from attrs import frozen

from wakeful.types import ActionResult
from wakeful_spillover.answers import ROOM, answer
from wakeful_spillover.jobs import Job
from wakeful_spillover.patterns import compiled
from wakeful_spillover.tables import Stored

#: Longest line that is shown whole, in characters; of longer ones the surroundings of each match.
LINE = 1_000
#: Characters shown on either side of a match in a longer line.
AROUND = 150
#: Most lines of context on either side.
CONTEXT = 20
#: Matches between two looks at the time.
_OFTEN = 1000


@frozen
class Grep:
    """A search for lines.

    Args:
        pattern: RE2 syntax.
        ignore_case: whether case does not matter.
        literal: find the pattern as it stands.
        context: lines shown before and after.
    """

    pattern: str
    ignore_case: bool = True
    literal: bool = False
    context: int = 0


@frozen
class Hits:
    """What a search found.

    Args:
        places: line, begin and end in it: one for each matching line, and of long lines one for each match;
            begin is -1 where the whole line is shown.
        lines: how many lines match.
        occurrences: how many matches there are in them.
        groups: of each match: its line and the named groups, if the pattern has some.
    """

    places: list[tuple[int, int, int]]
    lines: int
    occurrences: int
    groups: list[dict[Any, Any]]


class Text:
    """A text as lines, found by number without taking it apart."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.starts = [0]
        at = content.find(b"\n")
        while at >= 0:
            self.starts.append(at + 1)
            at = content.find(b"\n", at + 1)
        if len(self.starts) > 1 and self.starts[-1] == len(content):
            self.starts.pop()  # what ends with a line feed has no empty line after it

    def __len__(self) -> int:
        """Return how many lines there are."""
        return len(self.starts)

    def raw(self, number: int) -> bytes:
        """Return the bytes of a line, from 1."""
        end = self.starts[number] if number < len(self.starts) else len(self.content)
        return self.content[self.starts[number - 1] : end].rstrip(b"\r\n")

    def line(self, number: int) -> str:
        """Return a line, from 1."""
        return self.raw(number).decode(errors="replace")

    def length(self, number: int) -> int:
        """Return about how many bytes a line has, from 1."""
        end = self.starts[number] if number < len(self.starts) else len(self.content)
        return end - self.starts[number - 1]

    def number(self, place: int) -> int:
        """Return the number of the line that a byte is in."""
        return bisect_right(self.starts, place)


def grep(job: Job, text: Text, asked: Grep) -> Hits:
    """Return the lines that match. ``^`` and ``$`` are the ends of lines.

    Raises:
        ActionError: INVALID_PATTERN or QUERY_STOPPED.
    """
    pattern = compiled(asked.pattern, ignore_case=asked.ignore_case, literal=asked.literal, lines=True)
    groups: list[dict[Any, Any]] = []
    places: list[tuple[int, int, int]] = []
    lines = count = last = 0
    captures = not asked.literal and ("(?P<" in asked.pattern or "(?<" in asked.pattern)
    for count, match in enumerate(pattern.finditer(text.content), 1):
        if not count % _OFTEN:
            job.check()
        begin = match.start()
        number = text.number(begin)
        first = text.starts[number - 1]
        if text.length(number) > LINE:
            places.append((number, begin - first, match.end() - first))
        elif number != last:
            places.append((number, -1, -1))
        lines += number != last
        last = number
        if captures:
            named = {_decoded(name): _decoded(value) for name, value in match.groupdict().items()}
            groups.append({"line": number, **named})
    return Hits(places, lines, count, groups)


def matching(found: Stored, text: Text, hits: Hits, asked: Grep, start: int, limit: int) -> ActionResult:
    """Return one page of matching lines, with those around them."""
    taken: list[str] = []
    used = shown = last = 0
    context = min(asked.context, CONTEXT)
    for place in hits.places[start - 1 : start - 1 + limit]:
        block = list(_block(text, place, context, last))
        length = sum(len(line) + 1 for line in block)
        if taken and used + length > ROOM:
            break
        taken += block
        used += length
        shown += 1
        last = min(place[0] + context, len(text))
    out: dict[str, Any] = {"lines": "\n".join(taken)[:ROOM]}
    if hits.occurrences != len(hits.places):
        out["occurrences"] = hits.occurrences
    if hits.lines != len(hits.places):
        out["matching_lines"] = hits.lines
    total = len(hits.places)
    noun = "matching lines" if hits.lines == total else "matches"
    return answer(found, out, start=start, shown=shown, total=total, noun=noun)


def by_number(found: Stored, text: Text, start: int, limit: int) -> ActionResult:
    """Return lines by their numbers."""
    taken: list[str] = []
    used = 0
    for number in range(start, min(start + limit, len(text) + 1)):
        line = f"{number}: {_cut(text.line(number))}"
        if taken and used + len(line) > ROOM:
            break
        taken.append(line)
        used += len(line) + 1
    out = {"lines": "\n".join(taken)}
    return answer(found, out, start=start, shown=len(taken), total=len(text), noun="lines")


def _block(text: Text, place: tuple[int, int, int], context: int, after: int) -> Iterator[str]:
    number, begin, end = place
    if begin >= 0:
        part = text.raw(number)[max(begin - AROUND, 0) : end + AROUND].decode(errors="replace")
        yield f"{number}, byte {begin + 1:,}: …{part[:LINE]}…"
        return
    first = max(number - context, after + 1, 1)
    if after and context and first > after + 1:
        yield "--"
    for each in range(first, min(number + context, len(text)) + 1):
        yield f"{each}{':' if each == number else '-'} {_cut(text.line(each))}"


def _decoded(value: bytes | str | None) -> str | None:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _cut(line: str) -> str:
    return line if len(line) <= LINE else f"{line[:LINE]}… ({len(line):,} characters)"
