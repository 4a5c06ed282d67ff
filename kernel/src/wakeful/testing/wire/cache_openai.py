"""OpenAI's prompt caches: automatic steps of 128 tokens up to gpt-5.5, breakpoints from gpt-5.6 on."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator

from wakeful.testing.wire.bill import (
    OPENAI_BREAKPOINT_MODELS,
    OPENAI_MATCHES,
    OPENAI_MINIMUM,
    OPENAI_READ,
    OPENAI_RETENTION,
    OPENAI_STEP,
    OPENAI_WRITE,
    TTL,
    Bill,
    Clock,
    by_model,
)
from wakeful.testing.wire.canon import Canon
from wakeful.testing.wire.tokens import Counts

#: Breakpoints that are written: of the marked ones the last four, or the last three beside the implicit one.
EXPLICIT_WRITES, BESIDE_IMPLICIT = 4, 3


class OpenAICache:
    """Both generations, chosen by the model's name.

    Args:
        clock: the time that entries expire by.
        tokenizer: what automatic steps are cut with.
        generation: ``automatic`` or ``breakpoint`` for every model, or ``auto``.
    """

    def __init__(self, clock: Clock, tokenizer: Counts, generation: str = "auto") -> None:
        self.clock, self.tokenizer, self.generation = clock, tokenizer, generation
        #: Key of the prefix: when it expires, and for how many seconds it is renewed.
        self.entries: dict[bytes, tuple[float, float]] = {}
        self.dead: set[bytes] = set()

    def charge(self, canon: Canon, retention: str = "in_memory") -> Bill:
        """Read, renew and write entries for a sealed prompt and return its bill.

        Args:
            canon: the prompt.
            retention: the request's ``prompt_cache_retention``.
        """
        by_name = bool(OPENAI_BREAKPOINT_MODELS.search(canon.model))
        marked = self.generation == "breakpoint" or (self.generation == "auto" and by_name)
        bill = self._breakpoint(canon) if marked else self._automatic(canon, retention)
        read, write = by_model(OPENAI_READ, canon.model), OPENAI_WRITE if marked else 1.0
        bill.cost = bill.uncached + bill.read * read + bill.write * write
        return bill

    def _alive(self, key: bytes) -> bool:
        found = self.entries.get(key)
        if found and found[0] > self.clock.now():
            return True
        if found:
            del self.entries[key]
            self.dead.add(key)
        return False

    def _put(self, key: bytes, ttl: float) -> None:
        self.entries[key] = (self.clock.now() + ttl, ttl)
        self.dead.discard(key)

    def _automatic(self, canon: Canon, retention: str) -> Bill:
        bill = Bill(total=canon.total)
        keys = list(self._steps(canon))
        missed = b""
        for size, key in keys:
            if not self._alive(key):
                missed = key
                break
            if size >= OPENAI_MINIMUM:
                bill.read = size
        if not bill.read and missed in self.dead:
            bill.notes.append("expired")
        if canon.total >= OPENAI_MINIMUM:
            for _, key in keys:
                self._put(key, OPENAI_RETENTION.get(retention, OPENAI_RETENTION["in_memory"]))
        elif canon.total:
            bill.notes.append(f"below_minimum({OPENAI_MINIMUM})")
        bill.uncached = canon.total - bill.read
        return bill

    def _steps(self, canon: Canon) -> Iterator[tuple[int, bytes]]:
        """Yield the tokens and the key of every prefix of whole steps."""
        flat = array("I")
        for block in canon.blocks:
            if block.tokens:
                flat.extend(self.tokenizer.ids(block.text))
        state = hashlib.blake2b(f"{canon.model}|{canon.cache_key}".encode(), digest_size=16)
        for start in range(0, len(flat) - OPENAI_STEP + 1, OPENAI_STEP):
            state.update(flat[start : start + OPENAI_STEP].tobytes())
            yield start + OPENAI_STEP, state.digest()

    def _breakpoint(self, canon: Canon) -> Bill:
        bill = Bill(total=canon.total)
        keys = [block.chain + canon.cache_key.encode() for block in canon.blocks]
        writes, looks = _places(canon)
        hit = -1
        for i in reversed(looks[-OPENAI_MATCHES:]):
            if canon.ends[i] >= OPENAI_MINIMUM and self._alive(keys[i]):
                hit = i
                break
        if hit < 0 and any(keys[i] in self.dead for i in looks):
            bill.notes.append("expired")
        if hit >= 0:
            bill.read = canon.ends[hit]
            self._put(keys[hit], self.entries[keys[hit]][1])
        done = bill.read
        for i in writes:
            if canon.ends[i] < OPENAI_MINIMUM:
                continue
            if canon.ends[i] > done:
                bill.write_other += canon.ends[i] - done
                done = canon.ends[i]
            self._put(keys[i], TTL[canon.openai_ttl])
        bill.uncached = canon.total - done
        return bill


def _places(canon: Canon) -> tuple[list[int], list[int]]:
    """Return the blocks where entries are written and those where they are looked for."""
    explicit = [i for i, block in enumerate(canon.blocks) if block.cache_ttl == "explicit"]
    if canon.openai_mode == "explicit":
        return explicit[-EXPLICIT_WRITES:], explicit
    eligible = [i for i, block in enumerate(canon.blocks) if block.message >= 0 and block.cacheable]
    writes = sorted({*explicit[-BESIDE_IMPLICIT:], *eligible[-1:]})
    return writes, sorted({*explicit, *eligible})
