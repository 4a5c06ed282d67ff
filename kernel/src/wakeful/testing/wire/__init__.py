"""The wire server: a scripted model behind the wire formats of Anthropic and OpenAI.

It answers Anthropic Messages, OpenAI Chat Completions and OpenAI Responses, plays a :class:`Scenario`, and
books for every request what the provider's prompt cache would have charged and where the prompt stopped
repeating the one before. No network, no keys. Serving needs the extra ``wakeful[testing]``.

Conversations are told apart by the path prefix ``/c/<name>``, the header ``x-wire-conversation``, or a marker
``[[conv:<name>]]`` in the first user message; without any, all requests are one conversation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wakeful.testing.wire.app import App
    from wakeful.testing.wire.bill import Bill, Clock
    from wakeful.testing.wire.cache_anthropic import AnthropicCache
    from wakeful.testing.wire.cache_openai import OpenAICache
    from wakeful.testing.wire.canon import BadRequestError, Canon
    from wakeful.testing.wire.canonical_anthropic import canon_anthropic
    from wakeful.testing.wire.canonical_openai import canon_chat, canon_responses
    from wakeful.testing.wire.compare import divergence
    from wakeful.testing.wire.faults import ERRORS
    from wakeful.testing.wire.meter import Meter
    from wakeful.testing.wire.running import Running, Wire
    from wakeful.testing.wire.scenario import Scenario, scenarios
    from wakeful.testing.wire.tokens import Tokenizer

_WHERE = {
    "AnthropicCache": "cache_anthropic",
    "App": "app",
    "BadRequestError": "canon",
    "Bill": "bill",
    "Canon": "canon",
    "Clock": "bill",
    "ERRORS": "faults",
    "Meter": "meter",
    "OpenAICache": "cache_openai",
    "Running": "running",
    "Scenario": "scenario",
    "Tokenizer": "tokens",
    "Wire": "running",
    "canon_anthropic": "canonical_anthropic",
    "canon_chat": "canonical_openai",
    "canon_responses": "canonical_openai",
    "divergence": "compare",
    "scenarios": "scenario",
}

__all__ = [
    "ERRORS",
    "AnthropicCache",
    "App",
    "BadRequestError",
    "Bill",
    "Canon",
    "Clock",
    "Meter",
    "OpenAICache",
    "Running",
    "Scenario",
    "Tokenizer",
    "Wire",
    "canon_anthropic",
    "canon_chat",
    "canon_responses",
    "divergence",
    "scenarios",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'wakeful.testing.wire' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"wakeful.testing.wire.{_WHERE[name]}"), name)
