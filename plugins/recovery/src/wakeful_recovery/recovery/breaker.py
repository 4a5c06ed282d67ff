"""The circuit breaker: which calls cannot succeed in this run, by how its calls have ended so far.

Everything is derived from the outcomes that the run remembers, and those from the journal, so a run that is
taken up by another process counts on. Codes and ``retryable`` decide, never words in messages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from attrs import frozen

from wakeful.types import Outcome, canonical, read_json
from wakeful_recovery.recovery.settings import RecoverySettings

UNAVAILABLE, REPEATED, EXHAUSTED = "ACTION_UNAVAILABLE", "REPEATED_IDENTICAL_CALL", "ATTEMPTS_EXHAUSTED"
#: The breaker's own codes: a blocked call is no further failure.
RULES = frozenset({UNAVAILABLE, REPEATED, EXHAUSTED})
#: Codes that say no such call may succeed in this run; a result cannot say otherwise.
NOT_RETRYABLE = frozenset(
    {"PERMISSION_DENIED", "POLICY_APPROVAL_REQUIRED", "POLICY_DENIED", "REJECTED", "RUN_SCOPE_UNSUPPORTED"}
)
#: Neither success nor failure: the call may well be repeated once it is known that it had no effect.
_OPEN = "OUTCOME_UNKNOWN"


@frozen
class Blocked:
    """Which rule blocks a call, and why, in words for the model."""

    code: str
    reason: str


def blocked(
    outcomes: Sequence[Outcome],
    action: str,
    args: str,
    settings: RecoverySettings,
    changes: Callable[[str], bool],
    *,
    refused: bool = False,
) -> Blocked | None:
    """Return the first rule that blocks a call, or None.

    Args:
        outcomes: how the calls of the run ended, in order.
        action: tool name of the action.
        args: canonical JSON of the arguments.
        settings: the limits.
        changes: whether an action of that name changes anything, so that a failed call may now succeed.
        refused: the call's name or arguments are wrong. Of other calls, those that were refused or denied
            before they ran do not count as failures of the same call: whoever said so decides anew.
    """
    failures = in_a_row(outcomes, action)
    fatal = next((each.code for each in failures if each.code in settings.fatal_codes), "")
    if fatal:
        return Blocked(UNAVAILABLE, f"it ended with {fatal}, so no call of it can succeed in this run")
    same = [each for each in identical(outcomes, action, args, changes) if each.executed or refused]
    if same and _final(same[-1]):
        reason = f"exactly this call failed with {same[-1].code}, and the same call cannot succeed"
        return Blocked(REPEATED, reason)
    if len(same) >= settings.identical_failures:
        reason = f"exactly this call has failed {_times(len(same))}, the last time with {same[-1].code}"
        return Blocked(REPEATED, reason)
    if len(failures) >= settings.failures_in_a_row:
        reason = f"its last {len(failures)} calls in this run failed, the last one with {failures[-1].code}"
        return Blocked(EXHAUSTED, reason)
    return None


def in_a_row(outcomes: Iterable[Outcome], action: str) -> list[Outcome]:
    """Return the failures of an action since its last success, the oldest first."""
    found: list[Outcome] = []
    for each in outcomes:
        if each.action == action and each.code not in RULES and each.code != _OPEN:
            found = [] if each.success else [*found, each]
    return found


def identical(
    outcomes: Iterable[Outcome], action: str, args: str, changes: Callable[[str], bool]
) -> list[Outcome]:
    """Return the failures of one call, however spelt, since something happened that lets it succeed."""
    found: list[Outcome] = []
    written = _spelling(args)
    for each in outcomes:
        if each.success:
            found = [] if each.action == action or changes(each.action) else found
        elif each.action == action and each.code not in RULES and each.code != _OPEN:
            found += [each] if _spelling(each.args) == written else []
    return found


def _spelling(args: str) -> str:
    """Return arguments with sorted keys at all depths, also those that were refused as they were written."""
    if not args.startswith('"'):
        return args
    written: str = json.loads(args)
    try:
        return canonical(read_json(written))
    except ValueError:
        return written


def _final(outcome: Outcome) -> bool:
    return outcome.retryable is False or outcome.code in NOT_RETRYABLE


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
