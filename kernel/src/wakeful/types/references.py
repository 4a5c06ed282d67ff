"""Arguments that are taken from somewhere instead of being written: ``{"$from": "conversation[12]"}``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from attrs import frozen

from wakeful.types.enums import Trust
from wakeful.types.json import Json

if TYPE_CHECKING:
    from wakeful.types.run import Run


@frozen
class Referred:
    """What a reference stands for, how far it may be believed, and where it came from."""

    value: Json
    trust: Trust = Trust.TRUSTED
    source: str = ""


@frozen
class Provenance:
    """Where the value of one argument came from.

    Args:
        argument: its name.
        reference: as it was written, e.g. ``conversation[12]``.
        trust, source: of what stood there.
    """

    argument: str
    reference: str
    trust: Trust = Trust.TRUSTED
    source: str = ""


class Reference(Protocol):
    """Somewhere that arguments may be taken from."""

    @property
    def name(self) -> str:
        """Return the first word of its references, e.g. ``artifact``."""
        ...

    async def resolve(self, run: Run, path: str) -> Referred:
        """Return what stands at ``path``, which is what follows the name: ``[12]``, ``.rows[0]`` or nothing.

        Raises:
            ActionError: nothing stands there; its code and text are the call's result.
        """
        ...
