"""Executing work items on the store's own database."""

from wakeful.runtime.embedded import EmbeddedRuntime

__all__ = ["EmbeddedRuntime"]
