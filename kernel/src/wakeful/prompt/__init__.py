"""How a request is put together when no plugin fills the slots."""

from wakeful.prompt.layout import PlainLayout, PlainWindow, state_block
from wakeful.prompt.markers import escape_item, escape_markers

__all__ = ["PlainLayout", "PlainWindow", "escape_item", "escape_markers", "state_block"]
