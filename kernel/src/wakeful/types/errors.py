"""Every error wakeful raises on purpose, each with the exit code of the command line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from wakeful.types.prompt import Usage


def nearest(word: str, names: Iterable[str], *, limit: int = 8) -> str:
    """Return ``; did you mean 'x'?``, else the known names, else an empty string.

    Args:
        word: what was written.
        names: what would have been right.
        limit: how many names to list when none is near.
    """
    known = sorted(set(names))
    folded = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), folded, n=1)
    if close:
        return f"; did you mean {folded[close[0]]!r}?"
    if not known:
        return ""
    more = f", … ({len(known)} in all)" if len(known) > limit else ""
    return f"; known: {', '.join(known[:limit])}{more}"


class WakefulError(Exception):
    """Base of all errors that a user can act on; its text is one clear line."""

    exit_code = 1


@frozen
class Problem:
    """One thing that is wrong: where (file and path in it), what, and what to do."""

    where: str
    what: str

    def __str__(self) -> str:
        """Return the line that is printed."""
        return f"{self.where}: {self.what}" if self.where else self.what


class ConfigError(WakefulError):
    """The configuration, a plugin or an action is wrong. Holds every problem, not the first."""

    exit_code = 2

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Keep ``problems``; the text is one line for each."""
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class DeclarationError(WakefulError):
    """An action cannot be declared; names the action and the parameter."""

    exit_code = 2


class PluginError(WakefulError):
    """A plugin failed in a hook; names both."""

    exit_code = 2

    def __init__(self, plugin: str, hook: str, error: BaseException | str) -> None:
        """Keep the plugin, the hook and what went wrong."""
        what = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        super().__init__(f"plugin {plugin!r} failed in {hook}: {what}")
        self.plugin, self.hook = plugin, hook


class StoreError(WakefulError):
    """The database cannot be used; says which, why and what to do."""

    exit_code = 3


class ModelError(WakefulError):
    """A model call failed.

    Args:
        kind: auth, permission, rate_limit, overloaded, timeout, network, context_too_long,
            refused, malformed, server or unknown.
        message: one line.
        retryable: whether the same call may succeed later.
        retry_after: seconds the provider asked to wait, or None.
        usage: what the failed call used, where the provider said so; never lost.
    """

    exit_code = 4

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        """Keep the classification beside the message."""
        super().__init__(message)
        self.kind, self.retryable, self.retry_after, self.usage = kind, retryable, retry_after, usage

    @property
    def fails_over(self) -> bool:
        """Whether another model may succeed where this one failed for good."""
        return self.retryable or self.kind in {"auth", "permission", "malformed", "unknown"}


class NotFoundError(WakefulError):
    """No such agent, run, conversation or request; names the nearest."""

    exit_code = 2


class ConversationBusyError(WakefulError):
    """Another run of the conversation is active in another process."""

    exit_code = 5


class FencedError(WakefulError):
    """Another process took the run over while this one was stalled; nothing was written."""

    exit_code = 5


class NotAvailableError(WakefulError):
    """The feature needs a plugin that is not enabled for the agent; names what would fill it."""

    exit_code = 2
