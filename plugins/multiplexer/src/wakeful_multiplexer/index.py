"""The index over an agent's actions: names first, then a BM25 over fields that count differently.

In memory; building it for a thousand actions takes a fraction of a second, a search about a millisecond.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from wakeful.types import Action, Json
from wakeful_multiplexer.synonyms import Synonyms
from wakeful_multiplexer.words import first_sentence, squash, words

#: What a word counts by the field that holds it, as measured on the tools of 22 MCP servers.
WEIGHTS = {"name": 3.0, "keywords": 3.0, "category": 1.5, "first": 1.5, "description": 1.0, "params": 0.5}
#: BM25's saturation of repeated words and its normalisation by length.
K1, B = 1.2, 0.5
#: What a synonym counts against the word itself.
SYNONYM = 0.35
#: How much more an action scores whose whole name is in the query: of ``create_label`` and
#: ``create_label_rule`` the first is meant by "create label".
COVERED = 0.15
#: From how near on a name of one word, or a whole query, is a misspelt name (RapidFuzz ratio, of 100).
NEAR_WORD, NEAR_QUERY = 82.0, 92.0
#: Misspelt names that are put first.
NEAR_NAMES = 3
#: Longest query that may be a name: the limit of tool names and a server's name before it.
NAME_LENGTH = 128


@frozen
class Hit:
    """One action that was found; ``exact`` if the query is its name."""

    place: int
    exact: bool = False


class Index:
    """Finds actions by a few words.

    Args:
        actions: what can be found; hits name them by their place.
        synonyms: see :class:`Synonyms`.
    """

    def __init__(self, actions: Sequence[Action], synonyms: Synonyms) -> None:
        self._synonyms = synonyms
        self._named: dict[str, list[int]] = defaultdict(list)
        for place, action in enumerate(actions):
            for name in dict.fromkeys(squash(name) for name in names_of(action)):
                self._named[name].append(place)
        self._names = list(self._named)
        fields = [_fields(action) for action in actions]
        self._gains = _gains(fields)
        self._name_words = [frozenset(each["name"]) for each in fields]
        self._rarity = {term: _rarity(len(actions), len(places)) for term, places in self._gains.items()}
        self._weight = [sum(map(self._rarity.__getitem__, found)) for found in self._name_words]

    def search(self, query: str, limit: int) -> list[Hit]:
        """Return the best actions for a query, best first; nothing for a query that says nothing.

        Args:
            query: a few words, or a name.
            limit: most hits.
        """
        scores = self._scores(query)
        named, exact = self._by_name(query)
        alike = sorted(named, key=lambda place: (-named[place], -scores.get(place, 0.0), place))
        first = dict.fromkeys(alike)
        ranked = sorted(scores, key=lambda place: (-scores[place], place))
        rest = [place for place in ranked if place not in first]
        return [Hit(place, exact and place in first) for place in (*first, *rest)][:limit]

    def _by_name(self, query: str) -> tuple[dict[int, float], bool]:
        """Return the actions whose name the query is, how alike they are, and whether it is spelt right."""
        squashed = squash(query) if len(query) <= NAME_LENGTH else ""
        if not squashed:
            return {}, False
        if squashed in self._named:
            return dict.fromkeys(self._named[squashed], 100.0), True
        from rapidfuzz import fuzz, process  # late, as the stemmer

        cutoff = NEAR_WORD if len(query.split()) == 1 else NEAR_QUERY
        near = process.extract(
            squashed, self._names, scorer=fuzz.ratio, limit=NEAR_NAMES, score_cutoff=cutoff
        )
        return {place: alike for name, alike, _ in reversed(near) for place in self._named[name]}, False

    def _scores(self, query: str) -> dict[int, float]:
        scores: dict[int, float] = defaultdict(float)
        own = dict.fromkeys(words(query))
        for term in own:
            for place, gain in self._gains.get(term, ()):
                scores[place] += gain
        for term in self._synonyms.found_by(query):
            if term not in own:
                for place, gain in self._gains.get(term, ()):
                    scores[place] += SYNONYM * gain
        asked = own.keys()
        for place in scores:
            covered = sum(self._rarity[term] for term in self._name_words[place] & asked)
            if covered:
                scores[place] *= 1 + COVERED * covered / self._weight[place]
        return scores


def names_of(action: Action) -> tuple[str, ...]:
    """Return the names by which an action may be asked for, the shortest form last."""
    bare = bare_name(action)
    whole = f"{action.category} {bare}" if action.category else ""
    return tuple(name for name in (action.tool_name, action.name, whole, bare) if name)


def bare_name(action: Action) -> str:
    """Return the tool name without the prefix that repeats its category: ``mcp_github_x`` is ``x``."""
    parts, category = action.tool_name.split("_"), squash(action.category)
    for skipped in (0, 1):
        joined = ""
        for at in range(skipped, len(parts) - 1):
            joined += squash(parts[at])
            if category and joined == category:
                return "_".join(parts[at + 1 :])
    return action.tool_name


def _fields(action: Action) -> dict[str, list[str]]:
    names = [action.name]
    bare = bare_name(action)
    if squash(bare) not in squash(action.name):
        names.append(bare)
    return {
        "name": words(" ".join(names)),
        "keywords": words(" ".join(action.keywords)),
        "category": words(action.category),
        "first": words(first_sentence(action.description)),
        "description": words(action.description),
        "params": words(" ".join(_texts(action.schema))),
    }


def _texts(schema: Json) -> Iterable[str]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return
    for name, part in properties.items():
        yield name
        if isinstance(part, Mapping) and isinstance(part.get("description"), str):
            yield part["description"]


def _gains(fields: Sequence[Mapping[str, Sequence[str]]]) -> dict[str, list[tuple[int, float]]]:
    """Return what each word adds to the score of each action that has it."""
    total = len(fields)
    average = {name: _average(len(each[name]) for each in fields) for name in WEIGHTS}
    counts: dict[str, dict[int, float]] = defaultdict(dict)
    for place, each in enumerate(fields):
        for name, weight in WEIGHTS.items():
            norm = 1 - B + B * len(each[name]) / average[name]
            for term, count in Counter(each[name]).items():
                counts[term][place] = counts[term].get(place, 0.0) + weight * count / norm
    gains = {}
    for term, places in counts.items():
        rarity = _rarity(total, len(places))
        gains[term] = [(at, rarity * value * (K1 + 1) / (value + K1)) for at, value in places.items()]
    return gains


def _average(lengths: Iterable[int]) -> float:
    """Return the mean length of a field where there is something in it: few actions have keywords."""
    filled = [length for length in lengths if length]
    return sum(filled) / len(filled) if filled else 1.0


def _rarity(total: int, having: int) -> float:
    """Return what a word tells that ``having`` of ``total`` actions have (BM25's inverse frequency)."""
    return math.log(1 + (total - having + 0.5) / (having + 0.5))
