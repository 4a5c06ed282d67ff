"""Words as the index counts them: identifiers split, common words left out, the rest stemmed."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import Any

#: Words that say nothing about what an action does. Verbs of asking ("show", "get") stay: names have them.
COMMON = frozenset(
    {
        "a",
        "about",
        "all",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "here",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "just",
        "me",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "please",
        "she",
        "should",
        "so",
        "some",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "up",
        "us",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "whom",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    }
)
#: Characters of a text that are looked at: what a catalogue says later is detail, and queries are short.
READ = 4_000

_BREAKS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_]+")
_JOINED = re.compile(r"[\W_]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
#: Stems that are remembered; a catalogue of a thousand actions has about five thousand words.
_REMEMBERED = 65_536


@cache
def _stemmer() -> Any:
    # Late: an agent that never searches needs none. It is a C extension without stubs.
    import Stemmer  # type: ignore[import-not-found]  # it brings no types

    return Stemmer.Stemmer("english")


@lru_cache(_REMEMBERED)
def stem(word: str) -> str:
    """Return the stem of a lower-case word; one of another script than Latin stays as it is."""
    return str(_stemmer().stemWord(word)) if word.isascii() and len(word) <= 40 else word[:40]  # noqa: PLR2004  (longer ones are cut, not stemmed)


def raw_words(text: str) -> list[str]:
    """Return the words of a text in lower case: ``getHTTPCode_v2`` is ``get http code v2``."""
    plain = _plain(text[:READ])
    return [word.lower() for word in _BREAKS.split(plain) if word]


def words(text: str) -> list[str]:
    """Return the stems of a text's words in their order, common words left out.

    Scripts that write without blanks give pairs of characters instead of words.
    """
    found: list[str] = []
    for word in raw_words(text):
        if word in COMMON:
            continue
        if _UNSPACED.search(word):
            found += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        else:
            found.append(stem(word))
    return found


def squash(name: str) -> str:
    """Return a name without what does not tell names apart: case, accents, blanks, dashes, underscores."""
    return _JOINED.sub("", _plain(name[:READ])).lower()


def first_sentence(text: str) -> str:
    """Return what a description says first, at most 240 characters."""
    return re.split(r"(?<=[.!?])\s|\n", text.strip(), maxsplit=1)[0][:240]


def _plain(text: str) -> str:
    if text.isascii():
        return text
    split = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", "".join(char for char in split if not unicodedata.combining(char)))
