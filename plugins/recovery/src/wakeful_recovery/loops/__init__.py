"""The entry point ``loops``: actions run many times without a model call for each."""

from wakeful_recovery.loops.plugin import Loops
from wakeful_recovery.loops.settings import LoopsSettings

__all__ = ["Loops", "LoopsSettings"]
