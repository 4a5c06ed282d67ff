"""Agents with very many actions before the wire server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from wakeful.types import Json


@frozen
class Way:
    """A model behind one of the wire formats.

    Args:
        name: of the wire format.
        model: scheme and name.
        settings: of its provider.
        searches: whether it searches deferred tools itself.
    """

    name: str
    model: str
    settings: Mapping[str, Json]
    searches: bool

    def url(self, wire: Any) -> str:
        """Return the wire server's address."""
        return str(wire.anthropic_url if self.name == "anthropic" else wire.openai_url)


#: Both wire formats of OpenAI, and the one of Anthropic.
WAYS = (
    Way("anthropic", "anthropic:claude-sonnet-5", {}, searches=True),
    Way("responses", "openai:gpt-5.4", {"api": "responses"}, searches=True),
    Way("chat", "openai:gpt-5.4", {"api": "chat"}, searches=False),
)
