"""OpenAI's models, and those of servers that speak its protocols."""

from __future__ import annotations

from wakeful_openai.plugin import OpenAI
from wakeful_openai.settings import OpenAISettings

__all__ = ["OpenAI", "OpenAISettings"]
