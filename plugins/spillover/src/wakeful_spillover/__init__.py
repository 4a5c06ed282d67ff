"""Large outputs become artifacts with handles that wakeful agents can query."""

from wakeful_spillover.plugin import Spillover
from wakeful_spillover.settings import SpilloverSettings

__all__ = ["Spillover", "SpilloverSettings"]
