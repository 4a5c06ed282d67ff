"""How a request is put together when no plugin fills the slots."""

from wakeful.prompt.excerpts import excerpts
from wakeful.prompt.layout import PlainLayout, PlainWindow, ends_in_state, state_block
from wakeful.prompt.markers import escape_item, escape_markers

__all__ = [
    "PlainLayout",
    "PlainWindow",
    "ends_in_state",
    "escape_item",
    "escape_markers",
    "excerpts",
    "state_block",
]
