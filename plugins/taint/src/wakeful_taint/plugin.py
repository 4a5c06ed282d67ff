"""The plugin: judges calls by what the run has read, and marks outside text as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from wakeful.hookspecs import hookimpl
from wakeful.types import (
    Action,
    Effect,
    Envelope,
    Invocation,
    Judgement,
    Relief,
    Row,
    Run,
    Section,
    Services,
    Trust,
    document_marks,
)
from wakeful_taint.calls import effect_of, open_texts
from wakeful_taint.envelope import EXPLAINED, DataEnvelope, named
from wakeful_taint.neutral import neutral
from wakeful_taint.repeats import Repeats
from wakeful_taint.reset import KeepsDropped
from wakeful_taint.rules import Case, Decision, decide
from wakeful_taint.seen import Index, Seen
from wakeful_taint.settings import TaintSettings
from wakeful_taint.texts import codes_in, folded

#: Place of the section among the static ones.
ORDER = 90
#: From which cost tier of perception on an action acts on a page.
ON_PAGES = 4
#: Values whose source a reason names, and characters that it shows of each.
NAMED, SHOWN = 3, 60


class Taint:
    """Judges calls in runs that have seen outside text. Taint is in the rows; nothing is kept here.

    Args:
        settings: see :class:`TaintSettings`.
        services: what the kernel does for the plugin.
    """

    Settings = TaintSettings

    def __init__(self, settings: TaintSettings, services: Services) -> None:
        self._settings, self._services = settings, services
        self._index, self._repeats = Index(), Repeats()

    @hookimpl
    def result_envelope(self) -> Envelope:
        """Mark text from outside."""
        return DataEnvelope()

    @hookimpl
    def prompt_sections(self) -> Sequence[Section]:
        """Say once what the marks mean."""
        return [Section("outside data", ORDER, EXPLAINED)]

    @hookimpl
    def prompt_relief(self) -> Sequence[Relief]:
        """Let the rows that a person left out stay out."""
        return [KeepsDropped()]

    @hookimpl
    def policy_verdict(
        self, run: Run, proposal: Invocation, action: Action, earlier: Sequence[Invocation]
    ) -> Judgement | None:
        """Judge a call by the taint of the run; every call that reaches outside gets an answer."""
        judgement = self._judged(run, run, proposal, action, earlier)
        if proposal.parent:
            self._repeats.note(run, proposal)
        return judgement

    @hookimpl
    def policy_below(self, run: Run, child: Run, proposal: Invocation, action: Action) -> Judgement | None:
        """Judge a call of a sub-agent as one of this run: by the user's words, and by what both have read."""
        judgement = self._judged(run, child, proposal, action, ())
        self._repeats.note(run, proposal)
        return judgement

    @hookimpl
    def agent_warnings(self, actions: Mapping[str, Action]) -> Sequence[str]:
        """Say what waits for a person because no site is trusted."""
        pages = [n for n, a in actions.items() if a.effect is Effect.FETCH or a.tier >= ON_PAGES]
        if self._settings.trusted_sites or not pages:
            return ()
        more = f" and {len(pages) - NAMED} more" if len(pages) > NAMED else ""
        named = ", ".join(sorted(pages)[:NAMED]) + more
        asked = "once outside text was read, a person is asked about every page"
        return (f"trusted_sites is empty: {asked}: {named}",)

    def decision(
        self, run: Run, proposal: Invocation, action: Action, earlier: Sequence[Invocation]
    ) -> Decision:
        """Return what the rules say about a call, with the rule's name."""
        return self._decided(run, run, proposal, action, earlier)[0]

    def _judged(
        self, run: Run, below: Run, proposal: Invocation, action: Action, earlier: Sequence[Invocation]
    ) -> Judgement | None:
        decision, seen = self._decided(run, below, proposal, action, earlier)
        if decision.rule == "R3" and effect_of(action, proposal.args) in {Effect.READ, Effect.WRITE}:
            return None
        return Judgement(decision.verdict, _reason(decision, seen))

    def _decided(
        self, run: Run, below: Run, proposal: Invocation, action: Action, earlier: Sequence[Invocation]
    ) -> tuple[Decision, Sequence[Seen]]:
        runs = (run,) if below is run else (run, below)
        known = [self._index.of(each) for each in runs]
        seen, catalogue = known[-1], self._services.catalogue(below)
        case = Case(
            action=action,
            args=proposal.args,
            words=known[0].words(run),
            seen=seen,
            tainted=bool(proposal.provenance and max(each.trust for each in proposal.provenance))
            or any(_tainted(each, index) for each, index in zip(runs, known, strict=True)),
            repeat=self._repeats.is_one(runs, known, proposal, earlier, open_texts(action, proposal.args)),
            followed=_followed(runs, earlier, catalogue),
            page=_page(seen, action, catalogue),
            elsewhere=_elsewhere(runs, known),
        )
        return decide(case, self._settings), known


def _elsewhere(runs: Sequence[Run], known: Sequence[Seen]) -> Callable[[str], bool]:
    """Return whether a code stood in what the runs were shown, besides the rows of the last of them."""

    def stood(code: str) -> bool:
        if any(code in seen.codes for seen in known[:-1]):
            return True
        outside = (each for run in runs for each in run.context if each.trust is not Trust.TRUSTED)
        return any(code in codes_in(each.text) for each in outside)

    return stood


def _tainted(run: Run, seen: Seen) -> bool:
    """Whether anything that the run is shown is not trusted: rows, what was retrieved, its payload."""
    if any(not run.rewrites.drops(mark.seq) for mark in seen.marks):
        return True
    if any(row.trust is not Trust.TRUSTED for row in run.rows[seen.rows :]):
        return True  # the reply that is judged: it was shown an untrusted fragment
    if any(fragment.trust is not Trust.TRUSTED for fragment in run.context):
        return True
    return any(True for _ in document_marks(run))


def _followed(runs: Sequence[Run], earlier: Sequence[Invocation], catalogue: Mapping[str, Action]) -> int:
    """Return how many pages the run has fetched, with those of this step and those inside of other calls."""
    fetches = {name for name, action in catalogue.items() if action.effect is Effect.FETCH}
    done = sum(name in fetches for run in runs for name, _, _ in run.done)
    within = sum(count for run in runs for name, count in run.within.items() if name in fetches)
    return done + within + sum(each.action in fetches for each in earlier if each.refusal is None)


def _page(seen: Seen, action: Action, catalogue: Mapping[str, Action]) -> str:
    """Return the address of the page that an action would act on: the newest one its plugin has shown.

    Empty for an action that does not act on pages, which its tier says.
    """
    if action.tier < ON_PAGES:
        return ""
    for actions, address in reversed(seen.pages):
        if any(catalogue[name].owner == action.owner for name in actions if name in catalogue):
            return address
    return ""


def _reason(decision: Decision, known: Sequence[Seen]) -> str:
    """Return a reason in one line that says where values came from."""
    if not decision.reason:
        return ""
    parts = [f"{decision.rule}: {decision.reason}"]
    for value in decision.suspects[:NAMED]:
        row = next(filter(None, (seen.source(folded(value)) for seen in known)), None)
        parts.append(f"{value[:SHOWN]!r} {_came_from(row)}")
    left = len(decision.suspects) - NAMED
    if left > 0:
        parts.append(f"{left} more values are not the user's")
    return neutral("; ".join(parts))  # as it is shown, outside of envelopes


def _came_from(row: Row | None) -> str:
    if row is None:
        return "is not in the user's words"
    where = f"{named(row.source) or row.kind.value} (row {row.seq})"
    return f"came from {where}, not from the user"
