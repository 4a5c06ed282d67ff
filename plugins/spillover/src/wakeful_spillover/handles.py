"""Handles: A … Z, AA … ZZ, AAA …, one for each number from 1."""

from __future__ import annotations

import re

_LETTERS = 26
_WRITTEN = re.compile(r"\s*\[?\s*([A-Za-z]{1,8})\s*\]?\s*")


def handle(number: int) -> str:
    """Return the handle of the artifact ``number``, from 1: bijective base 26."""
    letters = ""
    while number > 0:
        number, rest = divmod(number - 1, _LETTERS)
        letters = chr(ord("A") + rest) + letters
    return letters


def number_of(text: str) -> int | None:
    """Return the number of a handle, written ``A`` or ``[A]`` in any case; None if it is none."""
    found = _WRITTEN.fullmatch(text)
    if found is None:
        return None
    number = 0
    for letter in found[1].upper():
        number = number * _LETTERS + ord(letter) - ord("A") + 1
    return number
