"""What a failed result lacks to say how to succeed: filled in, and held to what the caller may see."""

from __future__ import annotations

from collections.abc import Container, Iterable

from attrs import evolve, frozen

from wakeful.types import NEAR_LIMIT, Action, ActionResult, ErrorRecovery
from wakeful_recovery.recovery.breaker import EXHAUSTED, NOT_RETRYABLE, REPEATED, RULES, UNAVAILABLE
from wakeful_recovery.recovery.settings import RecoverySettings

#: What to do about a code, where the result itself does not say.
_ADVICE = {
    UNAVAILABLE: "Go on without it, and tell the user what is missing.",
    REPEATED: "Change the arguments, or reach the goal another way.",
    EXHAUSTED: "Go on without it, or ask the user.",
    "PERMISSION_DENIED": "Go on without it, or ask the user for the right to do this.",
    "REJECTED": "A person said no: do not repeat it; ask what is wanted instead.",
    "INVALID_CREDENTIALS": "Tell the user that the credentials of this service are not accepted.",
    "MISSING_CREDENTIALS": "Tell the user that this service has no credentials.",
    "SERVICE_NOT_CONFIGURED": "Tell the user that this service is not set up.",
    "UNSERIALISABLE": "It ran; do not repeat it for the same result. Go on without it.",
}
_MAY_HAVE_ACTED = "It may have taken effect: find out before you repeat it, or ask the user."
_LOOK_AGAIN = "Check the arguments; if they are right, try once more, else go on without it."


@frozen
class Failures:
    """How often the action of a call has failed by now: in a row, and with exactly these arguments."""

    in_row: int = 0
    same: int = 0


def advised(
    result: ActionResult,
    action: Action | None,
    tools: Container[str],
    failures: Failures,
    settings: RecoverySettings,
) -> ActionResult:
    """Return a failed result with everything it needs to teach.

    Args:
        result: failed.
        action: what was called, or None.
        tools: names of the actions the caller may call; others are not suggested.
        failures: this one included.
        settings: the limits of the breaker.
    """
    known = result.recovery or ErrorRecovery()
    code = result.code
    final = code in NOT_RETRYABLE or code in RULES or code in settings.fatal_codes
    own = "" if code in RULES else known.suggestion
    parts = [own or _ADVICE.get(code, "") or _described(action, code) or _default(action, known)]
    if action is not None and code not in RULES:
        warning = _warning(action.name, failures, settings)
        if warning and not parts[0].endswith((".", "!", "?")):
            parts[0] += "."
        parts.append(warning)
    recovery = evolve(
        known,
        retryable=False if final else known.retryable,
        suggestion=" ".join(filter(None, parts)),
        suggested_values=_few(known.suggested_values),
        suggested_next_actions=_few(name for name in known.suggested_next_actions if name in tools),
    )
    return evolve(result, recovery=recovery)


def _described(action: Action | None, code: str) -> str:
    """Return what the action itself says of a code that it ends with."""
    codes = action.result_codes if action else ()
    return next((each.description for each in codes if each.code == code), "")


def _default(action: Action | None, known: ErrorRecovery) -> str:
    if known.invalid_params or known.suggested_values:
        return "Correct the arguments and call again."
    if action is not None and not action.reruns:
        return _MAY_HAVE_ACTED
    return _LOOK_AGAIN


def _warning(name: str, failures: Failures, settings: RecoverySettings) -> str:
    said = []
    if 1 < settings.identical_failures <= failures.same:
        said.append(f"Exactly this call has failed {failures.same} times and is blocked now.")
    if failures.in_row >= settings.failures_in_a_row:
        said.append(
            f"This is failure {failures.in_row} in a row of {name}; it is blocked for the rest of this run."
        )
    elif failures.in_row >= settings.warn_from:
        after = f"after {settings.failures_in_a_row} it is blocked for the rest of this run."
        said.append(f"This is failure {failures.in_row} in a row of {name}; {after}")
    return " ".join(said)


def _few(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))[:NEAR_LIMIT]
