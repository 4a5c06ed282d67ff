"""Anthropic's prompt cache: breakpoints, a lookback of twenty blocks, lifetimes renewed by reading."""

from __future__ import annotations

from wakeful.testing.wire.bill import (
    ANTHROPIC_MINIMUM,
    LOOKBACK,
    MAX_BREAKPOINTS,
    READ,
    TTL,
    WRITE_1H,
    WRITE_5M,
    Bill,
    Clock,
    by_model,
)
from wakeful.testing.wire.canon import BadRequestError, Block, Canon

#: Index of a block and the TTL of the breakpoint at its end.
Mark = tuple[int, str]


class AnthropicCache:
    """Entries are written only at breakpoints and found by the hash of everything before them.

    Args:
        clock: the time that entries expire by.
        minimum: smallest cacheable prefix in tokens; by default the model's.
    """

    def __init__(self, clock: Clock, minimum: int | None = None) -> None:
        self.clock, self.minimum = clock, minimum
        #: Chain of the last block: when it expires, and for how long it is renewed.
        self.entries: dict[bytes, tuple[float, str]] = {}
        self.dead: set[bytes] = set()

    def charge(self, canon: Canon) -> Bill:
        """Read, renew and write entries for a sealed prompt and return its bill.

        Raises:
            BadRequestError: too many breakpoints, or a longer lifetime behind a shorter one.
        """
        bill = Bill(total=canon.total)
        marks = breakpoints(canon)
        minimum = self.minimum if self.minimum is not None else by_model(ANTHROPIC_MINIMUM, canon.model)
        usable = [(i, ttl) for i, ttl in marks if canon.ends[i] >= minimum]
        if marks and not usable:
            bill.notes.append(f"below_minimum({minimum})")
        hit = self._hit(canon.blocks, usable)
        if hit < 0 and usable:
            bill.notes += self._missed(canon.blocks, usable)
        if hit >= 0:
            bill.read = canon.ends[hit]
            self._renew(canon.blocks[: hit + 1])
        done = self._write(canon, usable, bill)
        bill.uncached = canon.total - done
        bill.cost = bill.uncached + bill.read * READ + bill.write_5m * WRITE_5M + bill.write_1h * WRITE_1H
        return bill

    def _alive(self, chain: bytes) -> bool:
        found = self.entries.get(chain)
        if found is None:
            return False
        if found[0] <= self.clock.now():
            self.dead.add(chain)
            del self.entries[chain]
            return False
        return True

    def _hit(self, blocks: list[Block], usable: list[Mark]) -> int:
        """Return the last block of the longest entry in sight of a breakpoint, or -1."""
        hit = -1
        for i, _ in reversed(usable):
            for place in range(i, max(-1, i - LOOKBACK), -1):
                if place <= hit:
                    break
                if self._alive(blocks[place].chain):
                    hit = place
                    break
        return hit

    def _missed(self, blocks: list[Block], usable: list[Mark]) -> list[str]:
        sight = [block.chain for i, _ in usable for block in blocks[max(0, i - LOOKBACK + 1) : i + 1]]
        if any(chain in self.dead for chain in sight):
            return ["expired"]
        if any(self._alive(block.chain) for block in blocks[: usable[-1][0] + 1]):
            return ["outside_lookback"]
        return []

    def _renew(self, blocks: list[Block]) -> None:
        """Everything on the chain that was just used stays warm."""
        for block in blocks:
            if self._alive(block.chain):
                ttl = self.entries[block.chain][1]
                self.entries[block.chain] = (self.clock.now() + TTL[ttl], ttl)

    def _write(self, canon: Canon, usable: list[Mark], bill: Bill) -> int:
        """Write entries, book them, and return up to which token the prompt is now cached."""
        done = bill.read
        for i, ttl in usable:
            if canon.ends[i] > done:
                if ttl == "1h":
                    bill.write_1h += canon.ends[i] - done
                else:
                    bill.write_5m += canon.ends[i] - done
                done = canon.ends[i]
            chain = canon.blocks[i].chain
            if not self._alive(chain):
                self.entries[chain] = (self.clock.now() + TTL[ttl], ttl)
                self.dead.discard(chain)
        return done


def breakpoints(canon: Canon) -> list[Mark]:
    """Return the breakpoints of a prompt in order, the automatic one on the last block that can carry it.

    Raises:
        BadRequestError: too many of them, or a longer lifetime behind a shorter one.
    """
    marks = [(i, block.cache_ttl) for i, block in enumerate(canon.blocks) if block.cache_ttl]
    last = next((i for i in reversed(range(len(canon.blocks))) if canon.blocks[i].cacheable), None)
    if canon.auto_ttl and last is not None:
        same = [ttl for i, ttl in marks if i == last]
        if same and same[0] != canon.auto_ttl:
            raise BadRequestError("cache_control: the last block already has a breakpoint with another ttl")
        if not same:
            marks.append((last, canon.auto_ttl))
    if len(marks) > MAX_BREAKPOINTS:
        raise BadRequestError(
            f"A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. Found {len(marks)}."
        )
    marks.sort()
    short = False
    for _, ttl in marks:
        if ttl == "1h" and short:
            raise BadRequestError(
                "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
            )
        short = short or ttl == "5m"
    return marks
