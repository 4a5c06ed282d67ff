"""Identity that is the same in every run of a test."""

from __future__ import annotations

import hashlib
from collections import Counter

from attrs import define, field


@define(eq=False)
class FakeIds:
    """A :class:`wakeful.types.IdSource` for tests: ``run-1``, ``run-2``, ``conv-1`` and so on.

    Args:
        seed: another seed gives other secrets.
    """

    seed: str = "test"
    _made: Counter[str] = field(factory=Counter, init=False)

    def new(self, prefix: str) -> str:
        """Return the next id of that prefix."""
        self._made[prefix] += 1
        return f"{prefix}-{self._made[prefix]}"

    def skip(self, prefix: str, count: int) -> None:
        """Leave out the first ids of a prefix, because a database knows them already."""
        self._made[prefix] = max(self._made[prefix], count)

    def secret(self) -> str:
        """Return 32 hexadecimal characters, the same ones in every run."""
        self._made["secret"] += 1
        return hashlib.sha256(f"{self.seed}/{self._made['secret']}".encode()).hexdigest()[:32]
