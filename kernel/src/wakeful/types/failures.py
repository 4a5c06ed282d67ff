"""Failing with words a model can act on."""

from __future__ import annotations

from collections.abc import Sequence

from wakeful.types.actions import ActionResult, ErrorRecovery, InvalidParam
from wakeful.types.enums import Trust
from wakeful.types.json import Json


def failure(code: str, message: str, recovery: ErrorRecovery | None = None) -> ActionResult:
    """Return a failed result that is the kernel's own word, and so trusted."""
    return ActionResult(success=False, code=code, message=message, recovery=recovery, trust=Trust.TRUSTED)


class ActionError(Exception):
    """Raised by an action to fail with its own code.

    Args:
        code: e.g. ``NO_SUCH_CUSTOMER``.
        message: one line for the model.
        retryable: whether the same call may succeed later; None = unknown.
        suggestion: what to do instead.
        suggested: near values, the nearest first; see :func:`wakeful.types.near`.
        invalid: what is wrong with single arguments.
        example: arguments that would do.
        next_actions: tool names of actions that help.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool | None = None,
        suggestion: str = "",
        suggested: Sequence[object] = (),
        invalid: Sequence[InvalidParam] = (),
        example: Json = None,
        next_actions: Sequence[str] = (),
    ) -> None:
        """Keep what the failed result will say."""
        super().__init__(f"{code}: {message}")
        self.code, self.message = str(code), str(message)
        self.trust: Trust | None = None
        self.source = ""
        values = [suggested] if isinstance(suggested, str) else suggested  # one value is no list of letters
        self.recovery = ErrorRecovery(
            retryable=retryable,
            suggestion=suggestion,
            suggested_values=tuple(str(value) for value in values),
            invalid_params=tuple(invalid),
            valid_example=example,
            suggested_next_actions=tuple(next_actions),
        )

    def quoting(self, trust: Trust | None, source: str) -> ActionError:
        """Say that it quotes what may be believed only so far, and where that came from; return itself."""
        self.trust, self.source = trust, source
        return self

    def result(self) -> ActionResult:
        """Return the failed result that it stands for."""
        return ActionResult(
            success=False,
            code=self.code,
            message=self.message,
            recovery=self.recovery,
            trust=self.trust,
            source=self.source,
        )
