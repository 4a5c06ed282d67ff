"""Writing a note: the stage that checks it against what is there, and stores it.

It works in the transaction that closes the step, so that notes are written in call order, exactly once,
and together with the rows that tell of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from wakeful.types import Action, ActionContext, ActionResult, ErrorRecovery, Phase, Run, Trust, failure
from wakeful_notes import shelf
from wakeful_notes.settings import NotesSettings
from wakeful_notes.tables import Note, Status, load
from wakeful_notes.texts import hashed, near

if TYPE_CHECKING:
    from wakeful.types import Tx

#: Who declares the action, and its tool name.
OWNER, REMEMBER = "notes", "remember"
#: Hexadecimal digits of an id: enough that no two notes share one, and short enough to type.
ID_DIGITS = 12


@frozen
class Stained:
    """The worst of what a run has read: how far it may be believed, where it came from and its row."""

    trust: Trust = Trust.TRUSTED
    source: str = ""
    row: int = 0


def stain(run: Run, result: ActionResult) -> Stained:
    """Return what a note that is written now may have been taken from."""
    drops = run.rewrites.drops
    rows = [Stained(row.trust, row.source, row.seq) for row in run.rows if not drops(row.seq)]
    shown = [Stained(each.trust, each.source) for each in run.context]
    given = Stained(result.trust or Trust.TRUSTED, result.source)
    # The first of the worst: what tainted the conversation, not what came after it.
    worst = max([*rows, *shown, given], key=lambda each: each.trust)
    return worst if worst.trust is not Trust.TRUSTED else Stained()


@frozen
class Keeps:
    """Stores what ``remember`` was given; see :class:`wakeful.types.Stage`."""

    settings: NotesSettings
    phase: Phase = Phase.NORMALISE
    name: str = OWNER

    async def apply(self, ctx: ActionContext, action: Action | None, result: ActionResult) -> ActionResult:
        """Return what became of the note in the place of what was given."""
        mine = action is not None and (action.owner, action.tool_name) == (OWNER, REMEMBER)
        if not mine or not result.success or ctx.tx is None:
            return result
        new = self._note(ctx, result)
        await ctx.tx.all(shelf.wait_for_turn(new.user, new.agent))
        said = await self._kept(ctx.tx, new)
        return evolve(said, trust=result.trust, source=result.source)

    def _note(self, ctx: ActionContext, result: ActionResult) -> Note:
        run, now = ctx.run, ctx.services.clock.now()
        worst = stain(run, result)
        text = str(result.outputs["text"])
        return Note(
            id=f"note-{hashed(ctx.key)[:ID_DIGITS]}",
            number=0,
            agent=run.agent.name,
            user=run.user,
            kind=str(result.outputs["kind"]),
            text=text,
            hash=hashed(text),
            status=Status.PENDING if worst.trust else Status.PROVISIONAL,
            trust=worst.trust,
            source=worst.source,
            row=worst.row,
            conversation=run.conversation,
            run=run.id,
            key=ctx.key,
            created_at=now,
            lapses_at=now + timedelta(days=self.settings.days),
        )

    async def _kept(self, tx: Tx, new: Note) -> ActionResult:
        """Check in the order that is documented: the same text, how much there is, nearly the same."""
        known = [load(row) for row in await tx.all(shelf.of_scope(new.user, new.agent))]
        beside = _beside(known, new)
        same = next((each for each in beside if each.hash == new.hash), None)
        if same is not None:
            return ActionResult(code="ALREADY_NOTED", message=f"this is noted already ({same.status.value})")
        ((written,),) = await tx.all(shelf.written_by(new.run))
        refused = self._full(beside, new, written)
        if refused is not None:
            return refused
        ((last,),) = await tx.all(shelf.last_number(new.user, new.agent))
        await tx.exec(shelf.add(evolve(new, number=last + 1)))
        old = [each.id for each in beside if each.status is new.status and near(each.text, new.text)]
        if old:
            await tx.exec(shelf.supersede(old, new.id))
        return _told(new, len(old))

    def _full(self, beside: Sequence[Note], new: Note, written: int) -> ActionResult | None:
        if written >= self.settings.writes:
            advice = ErrorRecovery(retryable=False, suggestion="Go on without noting more in this run.")
            return failure("NOTES_LIMIT", f"a run may write {self.settings.writes} notes", advice)
        used = sum(len(each.text) for each in beside if (each.status is Status.PENDING) is bool(new.trust))
        limit = self.settings.max_chars
        if used + len(new.text) > limit:
            advice = ErrorRecovery(
                retryable=False, suggestion="Note less, or ask the user which notes may be dropped."
            )
            said = f"all notes on a user may have {limit:,} characters; there are {used:,}"
            return failure("NOTES_FULL", f"{said}, this one has {len(new.text):,}", advice)
        return None


def _beside(known: Sequence[Note], new: Note) -> list[Note]:
    """Return the notes that a new one is compared with: what is read back, and what waits if it will wait."""
    waiting = new.status is Status.PENDING
    return [
        each for each in known if each.live(new.created_at) or (waiting and each.status is Status.PENDING)
    ]


def _told(new: Note, superseded: int) -> ActionResult:
    instead = ", in the place of an older one" if superseded else ""
    if new.status is Status.PENDING:
        message = (
            f"noted{instead}; outside text was read before, so it is not used until a person confirms it"
        )
        return ActionResult(code="SUCCESS_PENDING", message=message, outputs={"note": new.id})
    message = f"noted{instead}, until {date(new.lapses_at)} unless it is confirmed"
    return ActionResult(message=message, outputs={"note": new.id})


def date(moment: datetime) -> str:
    """Return the day of a moment, in UTC."""
    return f"{moment:%Y-%m-%d}"
