"""The entry point ``lifecycle``: results that age, long arguments that shrink, room when it is short."""

from wakeful_recovery.lifecycle.plugin import Lifecycle
from wakeful_recovery.lifecycle.settings import LifecycleSettings

__all__ = ["Lifecycle", "LifecycleSettings"]
