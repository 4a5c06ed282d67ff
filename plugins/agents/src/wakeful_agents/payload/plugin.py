"""The plugin: a state fragment, one action, and the source of ``{"$from": "payload.…"}``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from wakeful import ActionContext, ActionResult, action, hookimpl
from wakeful.types import (
    DOCUMENT,
    Action,
    ActionError,
    ConfigError,
    Fragment,
    Invocation,
    Json,
    Judgement,
    Problem,
    Reference,
    Referred,
    Run,
    Trust,
    Verdict,
    canonical,
    failure,
    near,
)
from wakeful_agents.payload.changes import Change, apply
from wakeful_agents.payload.given import problems_of
from wakeful_agents.payload.held import Held, held
from wakeful_agents.payload.paths import EVERYWHERE, MISSING, Path, PathError, Rule, look, parse_path, spell

#: Place of the fragment among the runtime state: after the kernel's own, before lists of plugins.
ORDER = 40
#: Most changes of one call; more are a new document, which is one change.
MOST = 100
#: Names of a document that an error tells.
NAMED = 40
#: Tool name of the action that changes the document.
CHANGE = "change_payload"


@frozen
class PayloadSettings:
    """What of the document may be written, and how long it may get."""

    paths: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "rules of what may be written, like `orders[*].total:add,update`; none: the agent "
            "writes everything but names that start with `_`, a sub-agent nothing"
        },
    )
    max_chars: int = field(default=20_000, metadata={"help": "longest document, as compact JSON"})


class Payload:
    """A JSON document that travels through a run."""

    Settings = PayloadSettings

    def __init__(self, settings: PayloadSettings) -> None:
        """Read the rules.

        Raises:
            ConfigError: one cannot be read.
        """
        self.settings = settings
        problems, rules = [], []
        for index, text in enumerate(settings.paths):
            try:
                rules.append(Rule.parse(text))
            except PathError as error:
                problems.append(Problem(f"plugins.payload.paths[{index}]", str(error)))
        if problems:
            raise ConfigError(problems)
        self._rules = tuple(rules)

    @hookimpl
    def prompt_state(self, run: Run) -> Sequence[Fragment] | None:
        """Show the document; ``none`` is not ``null``."""
        document = held(run)
        text = "none" if document.document is MISSING else canonical(document.document)
        trust = document.trust()
        return [Fragment("payload", ORDER, f"payload: {text}", trust, document.source() if trust else "")]

    @hookimpl
    def tool_actions(self) -> Sequence[Action]:
        """Give the action that changes the document."""
        return [_declared(self._change)]

    @hookimpl
    def tool_references(self) -> Sequence[Reference]:
        """Let arguments be taken from the document."""
        return [PayloadReference()]

    @hookimpl
    def option_problems(self, options: Mapping[str, Mapping[str, Json]]) -> Sequence[Problem]:
        """Refuse a document in a shape that nobody would read."""
        return problems_of(options)

    @hookimpl
    def policy_verdict(self, proposal: Invocation, earlier: Sequence[Invocation]) -> Judgement | None:
        """Refuse a second change beside the first: calls of one step do not see what the others write."""
        if proposal.action != CHANGE:
            return None
        for other in earlier:
            beside = not (other.parent and other.parent == proposal.parent)
            if other.action == CHANGE and other.refusal is None and beside:
                reason = f"one {CHANGE} in a step; put all changes into it, or make the others afterwards"
                return Judgement(Verdict.DENY, reason, code="PAYLOAD_BUSY")
        return None

    def rules(self, run: Run) -> tuple[Rule, ...]:
        """Return which places a run may write."""
        if self._rules or run.parent:
            return self._rules
        return (EVERYWHERE,)

    async def _change(self, raw: Sequence[Mapping[str, Json]], ctx: ActionContext) -> ActionResult:
        before = _now(ctx)
        try:
            wanted = [Change.parse(change) for change in raw]
        except PathError as error:
            return failure("INVALID_CHANGE", f"nothing was changed: {error}")
        applied = apply(before.document, wanted, self.rules(ctx.run))
        if applied.refused:
            said = failure("PAYLOAD_REFUSED", "nothing was changed: " + "; ".join(applied.refused))
            return evolve(said, trust=before.trust(), source=before.source())  # it names places
        length = len(canonical(applied.document)) if applied.document is not MISSING else 0
        if length > self.settings.max_chars:
            what = f"the document would have {length} characters; expected at most {self.settings.max_chars}"
            return failure("PAYLOAD_TOO_LONG", f"nothing was changed: {what}")
        trust, source = _believed(ctx)
        after = before.written(applied.document, applied.touched, trust, source, applied.moved)
        ctx.put(DOCUMENT, after.dump(ctx.run.id))
        return ActionResult(message=f"{len(wanted)} changes applied")


def _now(ctx: ActionContext) -> Held:
    """Return the document with what earlier calls of the step wrote."""
    kept = ctx.get(DOCUMENT)
    return Held.load(kept) if kept and kept["run"] == ctx.run.id else held(ctx.run)


def _believed(ctx: ActionContext) -> tuple[Trust, str]:
    """Return how far what a call writes may be believed, and where the worst that went into it came from.

    That is all that the run has seen, and what the arguments were taken from: inside of a loop, that has not
    been seen yet.
    """
    run = ctx.run
    worst = max((each.trust for each in ctx.provenance), default=Trust.TRUSTED)
    if worst > run.taint:
        return worst, next(each.source for each in ctx.provenance if each.trust is worst)
    if run.taint is Trust.TRUSTED:
        return run.taint, ""
    seen = next((row.source for row in run.rows if row.trust is run.taint and row.source), "conversation")
    return run.taint, seen


def _declared(run: Any) -> Action:
    @action(effect="write", output_trust="trusted", idempotent=True)
    async def change_payload(changes: list[dict[str, Any]], ctx: ActionContext) -> ActionResult:
        """Change the payload, the JSON document shown in the runtime state. All changes apply, or none.

        Args:
            changes: objects with op (new: nothing is there yet; update: objects keep other names; replace;
                remove), path like orders[3].total, where [+] appends and "" is all, and value.
            ctx: the call.
        """
        if len(changes) > MOST:
            return failure("INVALID_CHANGE", f"{len(changes)} changes in a call; expected at most {MOST}")
        result: ActionResult = await run(changes, ctx)
        return result

    return change_payload


@frozen
class PayloadReference:
    """Resolves ``payload.<path>``."""

    name: str = "payload"

    async def resolve(self, run: Run, path: str) -> Referred:
        """Return what stands at a place of the document, with where it came from.

        Raises:
            ActionError: nothing stands there.
        """
        document = held(run)
        try:
            place = parse_path(path.removeprefix("."))
        except PathError as error:
            raise ActionError("INVALID_REFERENCE", str(error)) from error
        value = look(document.document, place)
        if value is MISSING:
            raise _nothing(document, place)
        return Referred(value, document.trust(place), document.source(place))


def _nothing(document: Held, place: Path) -> ActionError:
    """Return the error for a place where nothing stands, with the names at the last part of it that there is.

    Names that came from outside are not told: a refusal is the kernel's own word.
    """
    above = [place[:length] for length in range(len(place) - 1, -1, -1)]
    last = next((part for part in above if look(document.document, part) is not MISSING), ())
    there = look(document.document, last)
    told = isinstance(there, dict) and document.trust(last) is Trust.TRUSTED
    names = sorted(there)[:NAMED] if told else []
    where = spell(last) or "its beginning"
    return ActionError(
        "NO_SUCH_VALUE",
        f"the payload has nothing at {spell(place)!r}",
        retryable=True,
        suggestion=f"At {where} there are: {', '.join(names)}." if names else "",
        suggested=[spell((*last, name)) for name in near(str(place[len(last)]), names)] if names else (),
    )
