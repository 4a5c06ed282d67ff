"""Values that came from the environment never reach a transcript, a record or a log line."""

from __future__ import annotations

import json

from attrs import field, frozen

from wakeful.loop.codec import dump_result, load_result
from wakeful.types import ActionResult

#: Shorter values are too likely to occur as ordinary words to be replaced.
SHORTEST = 6
MASK = "[secret]"


@frozen
class Redactor:
    """Replaces secrets, as they are and as JSON spells them."""

    secrets: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, secrets: tuple[str, ...]) -> Redactor:
        """Return a redactor for the secrets that are long enough, longest first."""
        spelled = {
            word for secret in secrets for word in (secret, json.dumps(secret, ensure_ascii=False)[1:-1])
        }
        return cls(
            tuple(sorted((word for word in spelled if len(word) >= SHORTEST), key=lambda w: (-len(w), w)))
        )

    def text(self, text: str) -> str:
        """Return ``text`` without secrets."""
        for secret in self.secrets:
            text = text.replace(secret, MASK)
        return text

    def result(self, result: ActionResult) -> ActionResult:
        """Return ``result`` without secrets; the same object if it holds none."""
        if not self.secrets:
            return result
        dumped = dump_result(result)
        masked = self.text(dumped)
        return result if masked == dumped else load_result(masked)
