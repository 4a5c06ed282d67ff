"""What a conversation has shown its model so far: an index that grows with its rows.

The index is derived from rows and holds nothing else; the rows in the store are what counts.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from attrs import define, field, frozen

from wakeful.types import Json, Result, Row, RowKind, Run, Trust, read_json, tool_name
from wakeful.types.words import written
from wakeful_taint.texts import addresses, codes, folded, host_of, links, normal, parts, plain_link
from wakeful_taint.words import APART, Words

#: Conversations whose index is kept; the one that was not asked about longest goes first.
KEPT = 64
#: Only a person's own words, which taint nothing and are not output.
_OWN = {RowKind.USER, RowKind.STEER}
_ESCAPED = re.compile(r"\\+/")  # a slash as JSON may have it, once or more
#: What a model wrote although it is shown as output; sub-agents' answers are as well.
_BY_MODELS, _DELEGATES = {RowKind.NOTE, RowKind.SUMMARY}, "delegate_to_"


@frozen
class Mark:
    """A row that taints: where it stands, how far it may be believed and where it came from."""

    seq: int
    trust: Trust
    source: str


@define
class Seen:
    """The index of one conversation, up to a row.

    ``links`` stand in outside text as they are written, ``named`` are links and hosts that the model wrote
    first, ``pages`` are the addresses that results came from, with the actions that gave them.
    """

    rows: int = 0
    last: tuple[int, str, int] = (0, "", 0)
    marks: list[Mark] = field(factory=list)
    codes: dict[str, int] = field(factory=dict)
    links: dict[str, int] = field(factory=dict)
    named: set[str] = field(factory=set)
    pages: list[tuple[tuple[str, ...], str]] = field(factory=list)
    texts: list[tuple[Row, str]] = field(factory=list)
    calls: dict[tuple[str, str], int] = field(factory=dict)
    delegated: set[str] = field(factory=set)
    output: dict[int, Row] = field(factory=dict)
    said: dict[int, list[str]] = field(factory=dict)
    _words: Words = Words("")

    def add(self, row: Row) -> None:
        """Take a row in."""
        self.rows += 1
        self.last = _identity(row)
        if row.kind is RowKind.STATE:
            return
        if row.kind in _OWN and row.trust is Trust.TRUSTED:
            self.said.setdefault(row.turn, []).append(row.text)
            return
        if row.trust is not Trust.TRUSTED:
            self.marks.append(Mark(row.seq, row.trust, row.source))
        self.delegated.update(call.id for call in row.calls if call.tool.startswith(_DELEGATES))
        for call in row.calls:
            for known in _called(call.tool, call.args):
                self.calls.setdefault(known, row.seq)
        if row.kind is not RowKind.ASSISTANT:
            self._take(row)
            return
        self._write(row)

    def _write(self, row: Row) -> None:
        """Note the links that the model brings up itself, and hosts that nothing else has named before."""
        text = "\n".join((row.text, *(call.args for call in row.calls)))
        said = links(written(_ESCAPED.sub("/", text)))
        self.named |= said - set(self.links)
        if said:
            self.named |= {host_of(link) for link in said} - {host_of(link) for link in self.links}

    def _take(self, row: Row) -> None:
        """Index the text of a row that is output."""
        text = folded(row.text)
        self.texts.append((row, text))
        self.output[row.seq] = row
        for code in codes(text):
            for piece in parts(code):
                self.codes.setdefault(piece, row.seq)
        for address in addresses(text):
            self.codes.setdefault(address, row.seq)
        if row.trust is not Trust.TRUSTED and not self._is_by_model(row):
            for link in links(written(row.text)):
                self.links.setdefault(link, row.seq)
        if row.source.startswith(("https://", "http://")):
            self.pages.append((tuple(row.meta.get("actions", ())), row.source))

    def _is_by_model(self, row: Row) -> bool:
        answers = (item.call_id for item in row.items if isinstance(item, Result))
        return row.kind in _BY_MODELS or any(map(self.delegated.__contains__, answers))

    def shows(self, link: str) -> bool:
        """Whether outside text has a link exactly so, and the model brought up neither it nor its host."""
        plain = plain_link(link)
        return plain in self.links and not self.named & {plain, host_of(plain)}

    def words(self, run: Run) -> Words:
        """Return the user's words in the turn of a run."""
        text = APART.join(filter(None, (run.given_words, *self.said.get(run.turn, ()))))
        if text != self._words.text:
            self._words = Words(text)
        return self._words

    def source(self, value: str) -> Row | None:
        """Return the first row that a folded value stands in."""
        found = self.codes.get(value)
        if found or addresses(value) == {value}:  # addresses are all known
            return self.output[found] if found else None
        return next((row for row, text in self.texts if value in text), None)


class Index:
    """The indexes of the conversations that were asked about last."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, Seen] = OrderedDict()

    def of(self, run: Run) -> Seen:
        """Return what a run's conversation has shown, the rows of the step in progress left out."""
        rows = _earlier(run)
        seen = self._seen.get(run.conversation)
        if seen is None or not _continues(seen, rows):
            seen = Seen()
            self._seen[run.conversation] = seen
        self._seen.move_to_end(run.conversation)
        while len(self._seen) > KEPT:
            self._seen.popitem(last=False)
        for at in range(seen.rows, len(rows)):
            seen.add(rows[at])
        return seen


def _earlier(run: Run) -> Sequence[Row]:
    """Return the rows before the reply whose calls are judged."""
    end = len(run.rows)
    while end and (run.rows[end - 1].run, run.rows[end - 1].step) == (run.id, run.step):
        if run.rows[end - 1].kind is not RowKind.ASSISTANT:
            break
        end -= 1
    return run.rows if end == len(run.rows) else run.rows[:end]


def _identity(row: Row) -> tuple[int, str, int]:
    return row.seq, row.run, row.step


def _continues(seen: Seen, rows: Sequence[Row]) -> bool:
    return seen.rows <= len(rows) and (not seen.rows or _identity(rows[seen.rows - 1]) == seen.last)


def _called(tool: str, args: str) -> list[tuple[str, str]]:
    """Return the calls that a model's call may be: itself, and every named one inside of its arguments."""
    try:
        parsed = read_json(args) if args else {}
    except ValueError:
        return []
    return [(tool, normal(parsed)), *_inside(parsed)]


def _inside(value: Json) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if isinstance(value, list):
        return [each for item in value for each in _inside(item)]
    if not isinstance(value, Mapping):
        return found
    names = [tool_name(each) for each in value.values() if isinstance(each, str)]
    for each in value.values():
        inner = _object(each)
        if isinstance(inner, Mapping):
            found += [(name, normal(inner)) for name in names]
            found += _inside(inner)
        elif isinstance(each, list):
            found += _inside(each)
    return found


def _object(value: Json) -> Json:
    if isinstance(value, str) and value.startswith("{"):
        try:
            return read_json(value)
        except ValueError:
            return value
    return value
