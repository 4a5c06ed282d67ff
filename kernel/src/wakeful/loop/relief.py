"""Making room: strategies of plugins are tried in order; what they did is stored before it is sent."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from wakeful.loop.live import Live
from wakeful.loop.rewrites import add_rewrite
from wakeful.results.render import nonce
from wakeful.types import (
    Call,
    Change,
    ChangeKind,
    FencedError,
    MessageChanged,
    Notice,
    Opaque,
    PluginError,
    Relief,
    Result,
    Row,
    RowKind,
    Run,
    StoreError,
    Text,
    Trust,
    View,
    read_json,
)
from wakeful.waiting import stopping

#: Shares of the budget are of this: what a request takes with the reply, as far as there is room.
FULL = 1.0
#: Below a full budget, a batch waits until the request has grown by this share of the budget since the
#: last one: each costs the prompt cache, and one that follows at once would free little.
GROWTH = 0.1
#: How much longer than estimated a request must have been that the provider found too long.
SURPRISE = 1.05


async def make_room(live: Live, characters: int, *, refused: bool = False) -> bool:
    """Let the agent's strategies shorten the next request where they apply; True if something changed.

    Args:
        live: the run.
        characters: length of the canonical request as it would be sent.
        refused: the provider said that exactly this request is too long.

    Raises:
        StoreError: what was done cannot be stored.
        FencedError: another process took the run over.
    """
    agent, run = live.agent.view, live.run
    if not live.agent.reliefs:
        return False
    if refused:
        _learn(live, characters)
    used = characters * live.run.tokens_per_char + agent.reserve
    between = not live.settled and not _asked(run)
    live.settled = True
    room = _Room(live, used)
    for plugin, relief in live.agent.reliefs:
        if room.applies(relief, between=between, refused=refused):
            await room.apply(plugin, relief)
    if not room.changes:
        return False
    await room.store()
    return True


def _asked(run: Run) -> bool:
    """Return whether a model has answered in this run already, perhaps in another process."""
    for row in reversed(run.rows):
        if row.run != run.id:
            return False
        if row.kind is RowKind.ASSISTANT:
            return True
    return False


def _learn(live: Live, characters: int) -> None:
    """Take a refused request for longer than the window: the estimate was wrong."""
    agent = live.agent.view
    least = max(agent.budget - agent.reserve, characters * live.run.tokens_per_char)
    live.update(tokens_per_char=SURPRISE * least / max(characters, 1))


class _Room:
    """The state of one attempt."""

    def __init__(self, live: Live, used: float) -> None:
        self.live, self.used = live, used
        self.budget = live.agent.view.budget
        self.changes: dict[tuple[int, int], Change] = {}
        self.reasons: list[str] = []
        self.run = live.run
        self._pressed = 0.0
        self._least = live.run.rewrites.share + GROWTH if live.run.rewrites.number else 0.0

    def applies(self, relief: Relief, *, between: bool, refused: bool) -> bool:
        """Return whether a strategy is to be tried now."""
        share = self.used / self.budget
        if between and relief.between_runs:
            return True
        if relief.share == self._pressed:
            return share > relief.until
        due = share >= relief.share or (refused and relief.share >= FULL)
        if relief.share < FULL and share < self._least:
            due = False
        if due and relief.share >= FULL:
            self._pressed = relief.share
        return due

    async def apply(self, plugin: str, relief: Relief) -> None:
        """Let one strategy propose its changes; one that fails changes nothing and is reported."""
        view = self.run.rewrites.apply(self._selected())
        excess = max(0, round(self.used - relief.until * self.budget))
        try:
            proposed = await relief.relieve(self.run, view, excess)
            made = self._finished(view, proposed, plugin)
        except (StoreError, FencedError):
            raise
        except Exception as error:
            if stopping():
                raise
            failed = PluginError(plugin, "prompt_relief", error)
            await self.live.emit(Notice(plugin, self.live.redactor.text(str(failed))))
            self.live.notices.append(self.live.redactor.text(str(failed)))
            return
        if made:
            self.used -= sum(change.saved for change in made)
            self.reasons.append(relief.name)
            self.changes.update({(change.seq, change.place): change for change in made})
            reason, share = ", ".join(self.reasons), self.used / self.budget
            merged = self.run.rewrites.with_changes(made, reason, share)
            self.run = evolve(self.run, rewrites=merged)

    def _selected(self) -> View:
        return self.live.agent.window.select(self.run)

    def _finished(self, view: View, proposed: Sequence[Change], plugin: str) -> list[Change]:
        """Return what really becomes shorter, in its final words."""
        rows = {row.seq: row for row in view.rows}
        made = []
        for change in proposed:
            row = rows.get(change.seq)
            if row is None or change.place >= len(row.items):
                continue
            item = row.items[change.place]
            if isinstance(item, Opaque):
                continue
            text = self._worded(row, change)
            before = item.args if isinstance(item, Call) else item.text
            if len(text) < len(before) and (isinstance(item, Text | Result) or _is_object(text)):
                saved = self.run.estimate(before) - self.run.estimate(text)
                made.append(evolve(change, text=text, quoted="", plugin=plugin, saved=saved))
        return made

    def _worded(self, row: Row, change: Change) -> str:
        quoted = change.quoted
        if quoted and row.trust is not Trust.TRUSTED:
            number = self.live.run.rewrites.number + 1
            mark = nonce(self.run.secret, f"view/{number}/{change.seq}/{change.place}")
            quoted = self.live.agent.envelope.wrap(quoted, row.trust, row.source, mark)
        return "\n".join(filter(None, (change.text, quoted)))

    async def store(self) -> None:
        """Make the rewrite durable, take it into the run and tell who listens."""
        live, changes = self.live, list(self.changes.values())
        reason, share = ", ".join(self.reasons), self.used / self.budget
        rewrites, now = live.run.rewrites.with_changes(changes, reason, share), live.clock.now()
        number = await live.store.write(lambda conn: add_rewrite(conn, live.run, changes, rewrites, now))
        live.update(rewrites=evolve(rewrites, number=number))
        turns = {row.seq: row.turn for row in live.run.rows}
        for change in changes:
            await live.emit(_event(live.run, change, turns.get(change.seq, 0)))


def _is_object(args: str) -> bool:
    """Return whether a text can stand as the arguments of a call, whatever a plugin makes of them."""
    try:
        return isinstance(read_json(args), dict)
    except ValueError:
        return False


def _event(run: Run, change: Change, turn: int) -> MessageChanged:
    return MessageChanged(
        run_id=run.id,
        kind=ChangeKind(change.kind).value,
        sequence=change.seq,
        index=change.place,
        turn=turn,
        reason=change.reason,
        tokens_saved=change.saved,
        plugin=change.plugin,
    )
