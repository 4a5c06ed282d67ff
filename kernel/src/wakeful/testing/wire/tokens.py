"""Token counting: the o200k_base table where it is installed, else four bytes to a token."""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Protocol

#: Texts whose tokens are remembered; a long test run repeats the same tools and messages endlessly.
MEMORY = 50_000
#: The table of the newer OpenAI models. Claude's own is not public: its figures are relative.
TABLE = "o200k_base"
#: Where the data of tiktoken lies; without it tiktoken would go to the network.
TIKTOKEN_FOLDER = "TIKTOKEN_CACHE_DIR"

Encode = Callable[[str, bytes], Iterable[int]]


class Counts(Protocol):
    """Whatever turns text into tokens."""

    name: str

    def ids(self, text: str) -> array[int]:
        """Return the token ids of a text."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens in a text."""
        ...


class Tokenizer:
    """Turns text into an array of token ids and remembers what it has already counted.

    Args:
        prefer: ``bpe_openai``, ``tiktoken`` or ``bytes`` (four bytes to a token); ``auto`` takes the first
            that is there, tiktoken only if ``TIKTOKEN_CACHE_DIR`` is set.
        memory: how many texts to remember.

    Raises:
        ImportError: the table that was asked for is not installed.
    """

    def __init__(self, prefer: str = "auto", memory: int = MEMORY) -> None:
        self.name, self._encode = _pick(prefer)
        self._memory: dict[bytes, array[int]] = {}
        self._limit = memory

    def ids(self, text: str) -> array[int]:
        """Return the token ids of a text."""
        raw = text.encode("utf-8", "surrogatepass")
        key = hashlib.blake2b(raw, digest_size=16).digest()
        known = self._memory.get(key)
        if known is None:
            known = array("I", self._encode(text, raw))
            if len(self._memory) >= self._limit:
                self._memory.clear()
            self._memory[key] = known
        return known

    def count(self, text: str) -> int:
        """Return the number of tokens in a text."""
        return len(self.ids(text))


def _pick(prefer: str) -> tuple[str, Encode]:
    wanted = []
    if prefer in {"auto", "bpe_openai"}:
        wanted.append(("bpe_openai", f"{TABLE} (bpe-openai)"))
    if prefer == "tiktoken" or (prefer == "auto" and os.environ.get(TIKTOKEN_FOLDER)):
        wanted.append(("tiktoken", f"{TABLE} (tiktoken)"))
    for module, name in wanted:
        try:
            return name, _table(module)
        except Exception:
            if prefer != "auto":
                raise
    return "bytes/4", _by_bytes


def _table(module: str) -> Encode:
    table = import_module(module).get_encoding(TABLE)
    table.encode_ordinary("probe")

    def encode(text: str, _raw: bytes) -> Iterable[int]:
        found: Iterable[int] = table.encode_ordinary(text)
        return found

    return encode


def _by_bytes(_text: str, raw: bytes) -> Iterable[int]:
    padded = raw + b"\0" * (-len(raw) % 4)
    return memoryview(padded).cast("I").tolist()
