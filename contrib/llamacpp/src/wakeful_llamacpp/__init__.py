"""A llama.cpp server on loopback as the model of agents: any GGUF file, no key, no network."""

from __future__ import annotations

from wakeful_llamacpp.plugin import LlamaCpp
from wakeful_llamacpp.settings import LlamaCppSettings

__all__ = ["LlamaCpp", "LlamaCppSettings"]
