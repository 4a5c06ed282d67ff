"""Anthropic models for wakeful agents."""

from wakeful_anthropic.plugin import Anthropic
from wakeful_anthropic.profiles import Facts, facts_of, known_models
from wakeful_anthropic.settings import AnthropicSettings, ModelFacts

__all__ = ["Anthropic", "AnthropicSettings", "Facts", "ModelFacts", "facts_of", "known_models"]
