"""The kernel's rendering of a result, frozen when it is first made."""

from __future__ import annotations

import hashlib
import hmac

from attrs import frozen

from wakeful.results.values import output, scalar
from wakeful.types import ActionResult, Envelope, ErrorRecovery, Trust, canonical, clean_text

#: Hexadecimal digits of a nonce: 48 bits, unguessable to whoever wrote the data.
NONCE_DIGITS = 12


@frozen
class PlainEnvelope:
    """No envelope: the text as it is."""

    def wrap(self, text: str, trust: Trust, source: str, nonce: str) -> str:  # noqa: ARG002  (the protocol)
        """Return ``text``."""
        return text


def nonce(secret: str, key: str) -> str:
    """Return the keyed hash that marks the envelope of one invocation, the same on every replay."""
    return hmac.new(secret.encode(), key.encode(), hashlib.sha256).hexdigest()[:NONCE_DIGITS]


def render(name: str, result: ActionResult, envelope: Envelope, mark: str) -> str:
    """Return a result as compact markdown.

    Heading, code and the Retryable line are the kernel's own and stay outside an envelope; message,
    outputs and suggestions may come from outside and stand inside.

    Args:
        name: the action's human name.
        result: stamped and staged.
        envelope: wraps what is not trusted.
        mark: the nonce of this invocation.
    """
    trust = result.trust if result.trust is not None else Trust.UNTRUSTED
    trusted = trust is Trust.TRUSTED
    message = f" — {result.message}" if result.message and trusted else ""
    lines = [f"## {name} {'✓' if result.success else '✗'}", f"**Result:** {result.code}{message}"]
    recovery = result.recovery
    if recovery and recovery.retryable is not None and not result.success:
        lines.append(f"**Retryable:** {'yes' if recovery.retryable else 'no'}")
    inside = [] if trusted or not result.message else [f"**Message:** {result.message}"]
    if recovery and not result.success:
        inside += _recovery(recovery)
    if result.outputs:
        inside += ["**Output:**", *(output(key, value) for key, value in result.outputs.items())]
    if inside:
        body = clean_text("\n".join(inside))
        lines.append(body if trusted else envelope.wrap(body, trust, result.source, mark))
    if trusted and result.directives:
        lines += ["**Directives:**"]
        lines += [f"- ({item.type}, {item.priority}) {item.message}" for item in result.directives]
    return clean_text("\n".join(lines))


def _recovery(recovery: ErrorRecovery) -> list[str]:
    lines = []
    for param in recovery.invalid_params:
        expected = f"; expected {param.expected_format}" if param.expected_format else ""
        allowed = ", ".join(scalar(value) for value in param.allowed_values)
        lines.append(
            f"**Invalid:** `{param.param}` {param.reason}{expected}"
            + (f"; allowed: {allowed}" if allowed else "")
        )
    if recovery.suggestion:
        lines.append(f"**How to recover:** {recovery.suggestion}")
    if recovery.suggested_values:
        lines.append("**Did you mean:** " + ", ".join(f"`{value}`" for value in recovery.suggested_values))
    if recovery.valid_example is not None:
        lines.append(f"**Valid example:** `{canonical(recovery.valid_example)}`")
    if recovery.suggested_next_actions:
        lines.append("**Next:** " + ", ".join(f"`{name}`" for name in recovery.suggested_next_actions))
    return lines
