"""Keeping known secrets out of files."""

from __future__ import annotations

import json
from collections.abc import Iterable

from attrs import field, frozen

from wakeful.types import Json

#: Shorter values are left alone: replacing every "1" would make a cassette unreadable.
MIN_SECRET = 6
#: What stands where a secret stood.
MASK = "[secret]"


@frozen
class Secrets:
    """Values that are never written, e.g. what ``${env:NAME}`` gave in the configuration."""

    values: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, values: Iterable[str]) -> Secrets:
        """Return the secrets in every spelling they can have inside JSON, the longest first."""
        spelled = set()
        for value in values:
            if len(value) >= MIN_SECRET:
                spelled |= {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
        return cls(tuple(sorted(spelled, key=lambda value: (-len(value), value))))

    def scrub(self, text: str) -> str:
        """Return ``text`` with every secret masked."""
        for value in self.values:
            text = text.replace(value, MASK)
        return text

    def scrub_json(self, value: Json) -> Json:
        """Mask every secret in the strings of a JSON value, keys included."""
        if isinstance(value, str):
            return self.scrub(value)
        if isinstance(value, dict):
            return {self.scrub(key): self.scrub_json(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.scrub_json(item) for item in value]
        return value
