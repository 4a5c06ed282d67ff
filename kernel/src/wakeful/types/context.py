"""What an action is handed beside its arguments: its call, its state, and calls inside of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from attrs import frozen

from wakeful.types.actions import ActionResult
from wakeful.types.json import Json
from wakeful.types.references import Provenance, Referred
from wakeful.types.run import Run, Services, Tx

if TYPE_CHECKING:
    from wakeful.types.events import Event
    from wakeful.types.protocols import Envelope


@frozen
class Called:
    """One inner call as the journal has it; see :meth:`ActionContext.call`.

    Args:
        inner: its place within the outer call.
        action: tool name of the action.
        args: its arguments, checked.
        result: what it gave; None while it has no end.
    """

    inner: int
    action: str
    args: Json
    result: ActionResult | None


class ActionContext(Protocol):
    """What an action or a result stage is handed beside its arguments."""

    run: Run
    key: str
    """Idempotency key ``<run>/<step>/<index>[/<inner>]``; stored before the action runs."""
    services: Services
    tx: Tx | None
    """The closing transaction; only in stages."""
    envelope: Envelope | None
    """What a result that is not trusted is shown in; only in stages."""

    @property
    def provenance(self) -> Sequence[Provenance]:
        """Return what the arguments were taken from; what they say may be believed no further than that."""
        ...

    def get(self, key: str, default: Json = None) -> Json:
        """Return a value of the declaring plugin's state, own writes of this step included."""
        ...

    def put(self, key: str, value: Json) -> None:
        """Set a value of the declaring plugin's state; applied in call order when the step closes.

        Raises:
            TypeError, ValueError: JSON has no word for the value.
        """
        ...

    async def call(
        self,
        action: str,
        args: Mapping[str, Json],
        *,
        inner: int,
        provenance: Sequence[Provenance] | None = None,
    ) -> ActionResult:
        """Run another action as a part of this call, and return its result as the action gave it.

        It is checked, judged, limited, journalled and executed like a call of the model, under the key
        ``<this key>/<inner>``; nothing enters the transcript. When this call runs again after a crash, an
        inner call that has its result gives it again and is not executed; one that began, has none and
        must not run twice is ``OUTCOME_UNKNOWN``. So the calling action is declared ``idempotent``, and
        gives the same ``inner`` to the same call each time.

        Args:
            action: its tool name.
            args: its arguments, unchecked.
            inner: the call's place within this one, from 0.
            provenance: what went into the arguments; None = whatever inner calls have given so far. What the
                arguments of this call were taken from counts in any case.

        Returns:
            A failed result too when the call was refused, denied, or waits for a person.
        """
        ...

    def called(self, of: str = "") -> AsyncIterator[Called]:
        """Give the inner calls so far in their order, read from the journal a few at a time.

        Args:
            of: key of an earlier call of the run whose inner calls are wanted; empty: this call.
        """
        ...

    async def refer(self, reference: str) -> Referred:
        """Return what a reference stands for, e.g. ``payload.orders[0]``; what inner calls put is in it.

        Args:
            reference: as it stands in ``{"$from": "…"}``.

        Raises:
            ActionError: nothing is called so, or nothing stands there.
        """
        ...

    async def emit(self, event: Event) -> None:
        """Pass an event to whoever streams the run; it is not stored."""
        ...
