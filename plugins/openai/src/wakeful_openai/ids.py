"""Ids of calls: a server's own where they will do, else made up, the same ones on every replay."""

from __future__ import annotations

from wakeful.models.names import within
from wakeful.types import Call, Request


def sent(marker: str, limit: int) -> str:
    """Return an id as it is sent: its own characters, which some servers insist on, unless it is too long."""
    return marker if len(marker) <= limit else within(marker, limit)


class CallIds:
    """Gives every call of one reply an id that no other call of the conversation has.

    Args:
        request: what the reply answers; holds the ids that are taken.
    """

    def __init__(self, request: Request) -> None:
        self._taken = {item.id for item in request.items if isinstance(item, Call)}
        self._place, self._made = len(request.items), 0

    def take(self, given: object) -> str:
        """Return ``given`` if it is an id and free; else one made of the reply's place and a number.

        Made ids have nine letters and digits, the only form that every known server takes.
        """
        name = given if isinstance(given, str) else ""
        while not name or name in self._taken:
            name = f"c{self._place:05d}{self._made:03d}"
            self._made += 1
        self._taken.add(name)
        return name
