"""Settings of the plugin."""

from __future__ import annotations

from attrs import field, frozen

from wakeful.types import ConfigError, Problem

#: Most characters of all notes that are read back, most notes of one run, and days that an unconfirmed note
#: is read back: what the plugin's specification gives.
CHARACTERS, WRITES, DAYS = 2_000, 5, 7


@frozen
class NotesSettings:
    """How much is remembered, and for how long without a person."""

    max_chars: int = field(
        default=CHARACTERS, metadata={"help": "most characters of all notes on a user together"}
    )
    writes: int = field(default=WRITES, metadata={"help": "most notes that one run may write"})
    days: int = field(default=DAYS, metadata={"help": "days after which a note lapses that nobody confirmed"})

    def __attrs_post_init__(self) -> None:
        """Refuse what cannot be meant.

        Raises:
            ConfigError: a number is less than 1.
        """
        given = {"max_chars": self.max_chars, "writes": self.writes, "days": self.days}
        problems = [
            Problem(f"plugins.notes.{name}", f"is {value}; expected a number from 1")
            for name, value in given.items()
            if value < 1
        ]
        if problems:
            raise ConfigError(problems)
