"""The plugin: one action that writes notes, and the fragments in which they are read back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from wakeful.hookspecs import hookimpl
from wakeful.tools.declare import action
from wakeful.types import (
    Action,
    ActionContext,
    ActionResult,
    Fragment,
    Invocation,
    Judgement,
    Lineage,
    Param,
    ResultCode,
    Run,
    Services,
    Stage,
    Trust,
    Verdict,
    failure,
)
from wakeful_notes import shelf
from wakeful_notes.settings import NotesSettings
from wakeful_notes.tables import LINEAGE, Note, Status, load
from wakeful_notes.texts import one_line
from wakeful_notes.writing import OWNER, REMEMBER, Keeps, date

#: Place of the notes among what is retrieved and the runtime state.
ORDER = 30
#: Sources that a fragment names.
NAMED = 3
#: Names of the fragments: notes of clean runs, and those that came from outside and were confirmed.
NOTES, OUTSIDE = "notes about the user", "notes about the user, taken from outside text"

_CODES = (
    ResultCode("SUCCESS", success=True, description="noted"),
    ResultCode("SUCCESS_PENDING", success=True, description="noted; not used before a person confirms it"),
    ResultCode("ALREADY_NOTED", success=True, description="the same is noted already"),
    ResultCode("INVALID_NOTE", success=False, description="there is no text"),
    ResultCode("NO_USER", success=False, description="the run has no user whom notes could be about"),
    ResultCode("NOTES_LIMIT", success=False, description="the run has written its notes"),
    ResultCode("NOTES_FULL", success=False, description="there is no room for it"),
)


class Notes:
    """What an agent remembers of a user from one conversation to the next."""

    Settings = NotesSettings

    def __init__(self, settings: NotesSettings, services: Services) -> None:
        """Keep the settings and what the kernel does for the plugin."""
        self._settings, self._services = settings, services

    @hookimpl
    def store_tables(self) -> Sequence[Lineage]:
        """Bring the table of notes."""
        return [LINEAGE]

    @hookimpl
    def tool_actions(self) -> Sequence[Action]:
        """Give the action that writes a note."""
        return [_declared()]

    @hookimpl
    def result_stages(self) -> Sequence[Stage]:
        """Store what the action was given."""
        return [Keeps(self._settings)]

    @hookimpl
    def policy_verdict(self, proposal: Invocation, action: Action) -> Judgement | None:
        """Refuse notes from inside other calls: no result of theirs enters the transcript, nor a stage."""
        if not proposal.parent or (action.owner, action.tool_name) != (OWNER, REMEMBER):
            return None
        reason = f"{REMEMBER} is called by itself, not from inside another call"
        return Judgement(Verdict.DENY, reason, code="NOTE_NOT_HERE")

    @hookimpl
    async def prompt_context(self, run: Run) -> Sequence[Fragment]:
        """Read the user's notes back; those that wait for a person never."""
        if not run.user:
            return []
        query = shelf.of_scope(run.user, run.agent.name, Status.PROVISIONAL, Status.CONFIRMED)
        found = [load(row) for row in await self._services.read(query)]
        live = [each for each in found if each.live(run.now)]
        shown = _within(live, self._settings.max_chars)
        if len(shown) < len(live):  # what people confirm is not refused for want of room
            left = len(live) - len(shown)
            self._services.report(
                f"notes of agent {run.agent.name} on user {run.user}: {left} not shown, together they have "
                f"more than {self._settings.max_chars:,} characters; drop some with `wakeful notes drop`"
            )
        fragments = [_fragment(trust, [each for each in shown if each.trust is trust]) for trust in Trust]
        return [fragment for fragment in fragments if fragment.text]


def _within(notes: Sequence[Note], limit: int) -> list[Note]:
    """Return the notes, oldest first, without the oldest unconfirmed ones that there is no room for."""
    kept: list[Note] = []
    for each in sorted(notes, key=lambda note: note.status is Status.CONFIRMED)[::-1]:
        limit -= len(each.text)
        if limit >= 0:
            kept.append(each)
    return sorted(kept, key=lambda note: note.number)


def _fragment(trust: Trust, notes: Sequence[Note]) -> Fragment:
    lines = [f"- {each.kind}: {each.text}{_until(each)}" for each in notes]
    if trust is Trust.TRUSTED:
        return Fragment(NOTES, ORDER, "\n".join(lines))
    sources = ", ".join(list(dict.fromkeys(each.source for each in notes))[:NAMED])
    return Fragment(f"{OUTSIDE} ({trust.label})", ORDER, "\n".join(lines), trust, sources)


def _until(note: Note) -> str:
    return "" if note.status is Status.CONFIRMED else f" (until {date(note.lapses_at)}, not confirmed)"


def _declared() -> Action:
    # It reads, to policies: nothing but the agent's own memory changes, a person sees and undoes it, and in
    # a run that has read outside text the note itself waits for a person; the call need not wait as well.
    # Pinned, since nobody searches for what they do not know they lack.
    @action(
        tool_name=REMEMBER,
        effect="read",
        output_trust="trusted",
        idempotent=True,
        pinned=True,
        result_codes=_CODES,
    )
    async def remember(
        kind: Annotated[Literal["preference", "context"], Param("what kind of note it is")],
        text: Annotated[str, Param("one short sentence that can be understood by itself", role="content")],
        ctx: ActionContext,
    ) -> ActionResult:
        """Note something about the user for later conversations: a preference (how they want things done) or
        context (who they are, what they work on). Never note orders, secrets, or what only this task needs.
        A note in other words takes the place of the older one. Notes are shown in the runtime state.
        """  # noqa: D205  (the model reads it as it is)
        line = one_line(text)
        if not line:
            return failure("INVALID_NOTE", "the text of a note is empty; expected one short sentence")
        if not ctx.run.user:
            return failure("NO_USER", "notes are about a user, and this run has none")
        return ActionResult(outputs={"kind": kind, "text": line})

    return remember
