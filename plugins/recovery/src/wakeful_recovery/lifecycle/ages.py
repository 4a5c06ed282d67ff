"""How old results are, and which expiration holds for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from wakeful.types import Action, Expiration, Json, Result, Row, RowKind, Run, Text, View
from wakeful_recovery.lifecycle.settings import MESSAGE_TYPES, MODES, problem_of

#: Name of the plugin in a run's options and in its saved state.
PLUGIN = "lifecycle"


@frozen
class Aged:
    """A result in the view: where it is, what it says now, what it said, and how old it is in turns."""

    row: Row
    place: int
    text: str
    original: str
    age: int

    @property
    def key(self) -> tuple[int, int]:
        """Where it is: sequence and place."""
        return self.row.seq, self.place


def results(run: Run, view: View) -> Iterator[Aged]:
    """Yield the results in a view, oldest first."""
    stored = {row.seq: row for row in run.rows}
    for row in view.rows:
        if (
            row.kind not in {RowKind.RESULT, RowKind.LATE_RESULT}
            or row.meta.get("message_type") not in MESSAGE_TYPES
        ):
            continue
        whole = stored.get(row.seq, row)
        for place, item in enumerate(row.items):
            if isinstance(item, Result | Text):
                before = whole.items[place]
                original = before.text if isinstance(before, Result | Text) else item.text
                age = run.turn - int(row.meta.get("turn_added", row.turn))
                yield Aged(row, place, item.text, original, age)


def expiration_of(
    row: Row,
    catalogue: Mapping[str, Action],
    defaults: Mapping[str, Expiration],
    overrides: Mapping[str, Expiration],
) -> Expiration | None:
    """Return how a result ages; None if it never does.

    Of several actions in one message the fewest turns and the stricter mode count.

    Args:
        row: the result's row.
        catalogue: the agent's actions; what the file sets for them is in there.
        defaults: by message type.
        overrides: run to the expiration that its caller set for everything.
    """
    if row.run in overrides:
        return overrides[row.run]
    default = defaults.get(str(row.meta.get("message_type")))
    found = []
    for name in row.meta.get("actions", ()):
        action = catalogue.get(name)
        own = (action.expiration if action else None) or default
        if own is not None:
            found.append(own)
    if not found:
        return None
    fewest = min(found, key=lambda each: each.turns)
    strict = max(found, key=lambda each: (_strictness(each.mode), -each.length))
    return Expiration(fewest.turns, strict.mode, strict.method, strict.length, strict.prompt)


def _strictness(mode: str) -> int:
    return ("none", "compact", "remove").index(mode) if mode in MODES else 0


def overridden(run: Run) -> dict[str, Expiration]:
    """Return run to the expiration that its caller set, of this run and of earlier ones.

    Raises:
        ValueError: what the caller of this run set is no expiration; says why.
    """
    saved = {
        key.removeprefix("run:"): Expiration(**value)
        for key, value in run.state.get(PLUGIN, {}).items()
        if key.startswith("run:")
    }
    given = own_override(run)
    return saved if given is None else {**saved, run.id: Expiration(**given)}


def own_override(run: Run) -> Mapping[str, Json] | None:
    """Return the expiration that the caller of a run set for all of its results, checked; None if none.

    Raises:
        ValueError: it is none; says why.
    """
    options = run.options.get(PLUGIN, {})
    if unknown := sorted(set(options) - {"expiration"}):
        raise ValueError(f"options: unknown key {unknown[0]!r}; expected 'expiration'")
    given = options.get("expiration")
    if given is None:
        return None
    try:
        problem = problem_of(Expiration(**given))
    except TypeError as error:
        raise ValueError(f"options.expiration: {error}") from error
    if problem:
        raise ValueError(f"options.expiration.{problem}")
    return dict(given)
