"""Executing work items on the store's own database."""

from wakeful.runtime.embedded import EmbeddedRuntime
from wakeful.runtime.owners import is_dead, owner_name

__all__ = ["EmbeddedRuntime", "is_dead", "owner_name"]
