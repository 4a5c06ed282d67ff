"""Where the values of a call came from, as a card shows it, by literal matching."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from wakeful.types import Invocation, Json, Row, RowKind, Run, Trust
from wakeful.types.words import exact, in_line, spellings, stands_apart, written

#: Rows that are the model's own words, or the kernel's; they are no source. A note that is not trusted is
#: what another agent says that has read outside text.
_OWN = frozenset({RowKind.ASSISTANT, RowKind.STATE})
#: What names something inside a text: addresses, links, and words with a number of some length in them.
_NAMES = re.compile(r"(?<![\w.+-])(?:[\w.+-]+@[\w.-]+\w|\w+://\S*\w|(?:\w+\.)+[a-z]{2,}\b|[\w-]*\d[\w-]{3,})")
#: Names of one text that are looked for, and characters of it that are looked through.
NAMES, LOOKED = 50, 20_000
#: Work on one call: characters that are looked through in search of values, a place counting as some.
WORK, PLACE = 30_000_000, 100
_WORD = re.compile(r"\w+")
#: A link's host, in which case does not count; in what follows it does.
_HOST = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?[^/?#]*", re.IGNORECASE)
_PLAIN = re.compile(r"[\w-]+")
#: Origins from the best to the worst, of equal trust.
_WORSE: Final = ("user", "reference", "conversation", "model", "outside", "unknown")


def origins(run: Run, inv: Invocation) -> list[dict[str, Json]]:
    """Return, for each value among the arguments, where it came from.

    Each has ``argument`` (its path), ``from`` (``user``, ``outside``, ``conversation``, ``reference``,
    ``model`` or ``unknown``), and of what was read also ``source``, ``trust`` and, of a row, its ``row``.
    What stands neither in the user's words nor in anything that was read is the model's; where such a text
    holds names that stand in what was read and not in the user's words, ``holds`` lists them, with their
    worst source; else ``after`` is the worst that was read from outside before. Values that would take too
    long to look for are ``unknown``, the rest of an argument as one.
    """
    referred = {each.argument: each for each in inv.provenance}
    leaves = [leaf for name, value in inv.args.items() for leaf in _leaves(name, shown_name(name), value)]
    read = _Read(run, {value for name, _, value in leaves if name not in referred})
    found: dict[str, dict[str, Json]] = {}
    rest: dict[str, list[str]] = {}
    for name, path, value in leaves:
        reference = referred.get(name)
        if reference is not None:
            of = {"source": _quoted(reference.source or reference.reference), "trust": reference.trust.label}
            origin: dict[str, Json] | None = {"from": "reference", **of}
        else:
            origin = read.origin(value)
        if origin is None:
            rest.setdefault(name, []).append(path)
        else:
            _put(found, path, origin)
    for paths in rest.values():
        path = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
        _put(found, path, {"from": "unknown", "source": "too much to look for", "trust": "unknown"})
    return list(found.values())


def shown_name(name: str) -> str:
    """Return an argument's name as a card has it: in quotes where it could pass for words of the card."""
    return name if _PLAIN.fullmatch(name) else in_line(json.dumps(name, ensure_ascii=False))


class _Read:
    """What the user said and what was read, looked through once for all values.

    Args:
        run: the run.
        values: what will be looked for.
    """

    def __init__(self, run: Run, values: set[str]) -> None:
        self._left = WORK
        # The worst first, and of equals the latest: the first that holds a value is what is told of it.
        self._rows = sorted(filter(_is_source, run.rows), key=lambda row: (-row.trust, -row.seq))
        self._words, self._cases = run.user_words, dict[int, str]()
        read = (exact(row.text) if row.trust is Trust.TRUSTED else _folded(row.text) for row in self._rows)
        self._texts = [exact(run.user_words), *read]
        self._text = "\0".join(self._texts)
        self._starts = [0]
        for text in self._texts:
            self._starts.append(self._starts[-1] + len(text) + 1)
        self._known: dict[str, dict[str, Json]] = {}
        forms = {form for value in values for form in (*_exactly(value), _folded(value))}
        self._places: dict[str, list[int]] = {word: [] for word in map(_longest, forms) if word}
        for match in _WORD.finditer(self._text) if self._places else ():
            places = self._places.get(match[0])
            if places is not None:
                places.append(match.start())

    def origin(self, value: str) -> dict[str, Json] | None:
        """Return where a value came from; None if finding out takes too long."""
        if value not in self._known:
            try:
                self._known[value] = self._origin(value)
            except TimeoutError:
                return None
        return self._known[value]

    def _origin(self, value: str) -> dict[str, Json]:
        forms = dict.fromkeys((*_exactly(value), _folded(value)))
        firsts = (next(self._numbers(form, value), None) for form in forms)
        number = min((each for each in firsts if each is not None), default=None)
        if number is None:
            return {"from": "model", **self._held(value)}
        if not number:
            return {"from": "user"}
        row = self._rows[number - 1]
        return {"from": "conversation" if row.trust is Trust.TRUSTED else "outside", **_where(row)}

    def _numbers(self, form: str, value: str) -> Iterator[int]:
        """Yield in which texts a form of a value stands: as a whole where they are trusted, else as words."""
        word, exactly = _longest(form), form in _exactly(value)
        offset = form.find(word)
        self._spend(0 if word else len(self._text))
        for place in self._places[word] if word else _finds(self._text, form):
            self._spend(PLACE)
            start = place - offset
            end = start + len(form)
            if start < 0 or not self._text.startswith(form, start):
                continue
            number = bisect_right(self._starts, start) - 1
            if not number or self._rows[number - 1].trust is Trust.TRUSTED:
                if exactly and stands_apart(self._text, start, end) and self._alike(number, start, value):
                    yield number
            elif not (_WORD.match(self._text[start - 1]) or _WORD.match(self._text, end)):
                yield number

    def _alike(self, number: int, start: int, value: str) -> bool:
        """Whether a trusted text says there what a value says: of links and paths case counts as well."""
        if "/" not in value:
            return True
        if number not in self._cases:
            self._cases[number] = written(self._rows[number - 1].text if number else self._words)
        text, value, start = self._cases[number], written(value), start - self._starts[number]
        return len(text) == len(self._texts[number]) and _cased(text[start : start + len(value)]) == _cased(
            value
        )

    def _held(self, value: str) -> dict[str, Json]:
        """Return which names in a text of the model stand in what was read from outside, if any do."""
        outside = [row for row in self._rows if row.trust is not Trust.TRUSTED]
        if not outside:
            return {}
        names = dict.fromkeys(_NAMES.findall(exact(value[:LOOKED]))[:NAMES])
        found = {name: self._first(_folded(name)) for name in names}
        held = {name: number for name, number in found.items() if number and not self._said(name)}
        if not held:
            return {"after": _where(outside[0])}
        return {"holds": list[Json](map(in_line, held)), **_where(self._rows[min(held.values()) - 1])}

    @cached_property
    def _outside(self) -> str:
        """All that was read from outside, each part between blanks once."""
        rows = zip(self._rows, self._texts[1:], strict=True)
        texts = [text for row, text in rows if row.trust is not Trust.TRUSTED]
        return "\n".join(dict.fromkeys(part for text in texts for part in text.split()))

    def _first(self, name: str) -> int:
        """Return the number of the first text from outside that holds a name; 0 if none does."""
        self._spend(len(self._outside))
        if name not in self._outside:
            return 0
        self._spend(len(self._text))
        return next(number for number, text in enumerate(self._texts) if number and name in text)

    def _said(self, name: str) -> bool:
        said = self._texts[0]
        self._spend(len(said))
        return any(stands_apart(said, start, start + len(name)) for start in _finds(said, name))

    def _spend(self, work: int) -> None:
        self._left -= work
        if self._left < 0:
            raise TimeoutError


def _finds(text: str, value: str) -> Iterator[int]:
    start = text.find(value)
    while start >= 0:
        yield start
        start = text.find(value, start + 1)


def _exactly(value: str) -> tuple[str, ...]:
    """Return the texts that count as a value where somebody says them."""
    return spellings(exact(value.replace("\0", "\N{REPLACEMENT CHARACTER}")))


def _folded(text: str) -> str:
    """Return a text in which more counts as the same, so that what came from outside is named."""
    return exact(text.casefold().replace("\0", "\N{REPLACEMENT CHARACTER}"))


def _cased(text: str) -> str:
    """Return a link or a path with the scheme and host in one case."""
    end = _HOST.match(text).end()  # type: ignore[union-attr]  # it matches nothing, too
    return text[:end].lower() + text[end:]


def _longest(value: str) -> str:
    """Return the longest word of a value; empty if it has none."""
    return max(_WORD.findall(value), key=len, default="")


def _put(found: dict[str, dict[str, Json]], path: str, origin: Mapping[str, Json]) -> None:
    """Keep an origin; of several for equal paths the worst."""
    known = found.get(path)
    if known is None or _badness(origin) > _badness(known):
        found[path] = {"argument": path, **origin}


def _badness(origin: Mapping[str, Json]) -> tuple[bool, int]:
    return origin.get("trust", "trusted") != "trusted", _WORSE.index(origin["from"])


def _where(row: Row) -> dict[str, Json]:
    return {"source": _quoted(row.source or str(row.kind)), "trust": row.trust.label, "row": row.seq}


def _quoted(source: str) -> str:
    """Return a source as a card names it: in quotes where it could pass for words of the card."""
    return in_line(json.dumps(source, ensure_ascii=False) if re.search(r'[;,()"]', source) else source)


def _is_source(row: Row) -> bool:
    return row.kind not in _OWN and (row.kind is not RowKind.NOTE or row.trust is not Trust.TRUSTED)


def _leaves(name: str, path: str, value: Json) -> Iterator[tuple[str, str, str]]:
    """Yield the argument, path and text of each value; names that are not plain stand in quotes."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            shown = shown_name(str(key))
            yield from _leaves(name, f"{path}.{key}" if shown == key else f"{path}[{shown}]", item)
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from _leaves(name, f"{path}[{place}]", item)
    elif isinstance(value, bool):
        yield name, path, "true" if value else "false"
    elif value is not None and str(value).strip():
        yield name, path, str(value).strip()
