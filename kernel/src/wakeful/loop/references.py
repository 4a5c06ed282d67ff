"""Arguments that are taken from somewhere: ``{"$from": "conversation[12]"}``.

Only an argument that is exactly such an object is replaced, before it is checked and judged. What stands
there keeps its trust: the call's result is believed no further than what went into it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import evolve, frozen

from wakeful.loop.agent import BuiltAgent
from wakeful.tools.decode import Refused, decode
from wakeful.types import (
    ActionError,
    ActionResult,
    ErrorRecovery,
    Invocation,
    Json,
    PluginError,
    Provenance,
    Referred,
    Row,
    Run,
    Trust,
    failure,
    nearest,
)

MARK: Final = "$from"
_REFERENCE = re.compile(r"(?P<name>[A-Za-z_]+)(?P<path>(?:[.\[].*)?)", re.DOTALL)
_ROW = re.compile(r"\[(?P<seq>\d{1,9})\]")


@frozen
class ConversationReference:
    """Resolves ``conversation[n]``: the text of row n."""

    name: str = "conversation"

    async def resolve(self, run: Run, path: str) -> Referred:
        """Return the text of a row.

        Raises:
            ActionError: there is no such row.
        """
        found = _ROW.fullmatch(path)
        if found is None:
            raise ActionError("INVALID_REFERENCE", f"expected conversation[n], got 'conversation{path[:40]}'")
        seq = int(found["seq"])
        row = next((row for row in run.rows if row.seq == seq), None)
        if row is None or not row.text:
            raise ActionError("NO_SUCH_VALUE", f"the conversation has no text at [{seq}]")
        worst = _made_of(run, row)
        return Referred(row.text, worst.trust, worst.source)


def _made_of(run: Run, row: Row) -> Row:
    """Return the least trusted row that one may be made of.

    What a person left out was written by a run that had read all of what was left out before it. Anything
    else in view taints the run by itself.
    """
    drops = run.rewrites.drops
    if not drops(row.seq):
        return row
    return max(
        (each for each in run.rows if each.seq <= row.seq and drops(each.seq)), key=lambda each: each.trust
    )


async def filled(agent: BuiltAgent, run: Run, inv: Invocation) -> Invocation:
    """Return the proposal with the references among its arguments replaced, or with what refuses it."""
    if inv.refusal is not None or not mentions(inv.args):
        return inv
    try:
        args = dict(decode(inv.args))
    except Refused:
        return inv  # the check of the arguments says what is wrong
    provenance: list[Provenance] = []
    for name, value in list(args.items()):
        if not (isinstance(value, dict) and value.keys() == {MARK} and isinstance(value[MARK], str)):
            continue
        found = await resolved(agent, run, value[MARK])
        if isinstance(found, ActionResult):
            return evolve(inv, args=args, refusal=found, provenance=tuple(provenance))
        args[name] = found.value
        provenance.append(Provenance(name, value[MARK], found.trust, found.source))
    return evolve(inv, args=args, provenance=tuple(provenance))


def mentions(args: Json) -> bool:
    """Return whether there may be a reference; almost no call has one."""
    if isinstance(args, str):
        return MARK in args
    return isinstance(args, Mapping) and any(
        isinstance(each, dict) and MARK in each for each in args.values()
    )


async def resolved(agent: BuiltAgent, run: Run, text: str) -> Referred | ActionResult:
    """Return what a reference stands for, or the failed result that says why it stands for nothing."""
    found = _REFERENCE.fullmatch(text)
    known = agent.references
    if found is None or found["name"] not in known:
        name = found["name"] if found else text[:40]
        return failure("INVALID_REFERENCE", f"nothing is called {name!r}{nearest(name, known)}")
    try:
        value = await known[found["name"]].resolve(run, found["path"])
        if not isinstance(value, Referred):
            raise TypeError(f"expected a Referred, got a {type(value).__name__}")
    except ActionError as error:
        said = error.result()
        recovery, trust = error.recovery or ErrorRecovery(retryable=True), said.trust or Trust.TRUSTED
        return evolve(said, recovery=recovery, trust=trust)
    except Exception as error:  # noqa: BLE001  (the call fails, the run goes on)
        said = failure("REFERENCE_FAILED", str(PluginError(found["name"], "tool_references", error)))
        return evolve(said, trust=Trust.UNTRUSTED, source=found["name"])  # it may quote what was read
    return value


def worsened(sources: Sequence[Provenance], result: ActionResult) -> ActionResult:
    """Return a result as far as it may be believed after what it was made of, e.g. its call's arguments."""
    worst = max((each.trust for each in sources), default=Trust.TRUSTED)
    if worst <= (result.trust or Trust.TRUSTED):
        return result
    source = next(each.source for each in sources if each.trust is worst)
    return evolve(result, trust=worst, source=source or result.source, directives=())
