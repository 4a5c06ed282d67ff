"""The long-term memory of a wakeful agent: preferences and context of one user, kept as short notes."""

from wakeful_notes.plugin import Notes
from wakeful_notes.settings import NotesSettings

__all__ = ["Notes", "NotesSettings"]
