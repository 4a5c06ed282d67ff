"""Texts of notes: one clean line, its hash, and whether two say nearly the same."""

from __future__ import annotations

import hashlib
import unicodedata

from wakeful.types import clean_text

#: From which similarity, 0 to 1, two notes count as the same note in other words.
NEAR = 0.85


def one_line(text: str) -> str:
    """Return a text as one line: composed characters, no control characters, single blanks."""
    composed = unicodedata.normalize("NFC", clean_text(text))
    plain = "".join(" " if unicodedata.category(each) == "Cc" else each for each in composed)
    return " ".join(plain.split())


def hashed(line: str) -> str:
    """Return the sha256 of a line."""
    return hashlib.sha256(line.encode()).hexdigest()


def near(line: str, other: str) -> bool:
    """Return whether two lines are at least :data:`NEAR` alike, whatever their case."""
    from rapidfuzz import fuzz  # late: only a write compares

    return fuzz.ratio(line.casefold(), other.casefold()) >= NEAR * 100
