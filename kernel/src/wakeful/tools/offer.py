"""The plain offer: every action is a tool of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from wakeful.tools.describe import declare_tool
from wakeful.types import (
    Action,
    ActionResult,
    AgentView,
    Call,
    ErrorRecovery,
    Json,
    Offered,
    failure,
    near,
)


@frozen
class PlainOffer:
    """Declares all actions, sorted by tool name, and resolves a call by its exact name."""

    def open(self, actions: Mapping[str, Action], agent: AgentView) -> Offered:  # noqa: ARG002  (the protocol)
        """Return every action as a tool."""
        return Offered(tuple(declare_tool(actions[name]) for name in sorted(actions)))

    def actions(self) -> Sequence[Action]:
        """Nothing extra."""
        return ()

    def resolve(
        self,
        call: Call,
        catalogue: Mapping[str, Action],
        decision: Json,  # noqa: ARG002  (the protocol's argument)
    ) -> Sequence[tuple[str, Json]] | ActionResult:
        """Return the action of that name, or a failed result with near names."""
        if call.tool in catalogue:
            return [(call.tool, call.args)]
        return unknown_tool(call.tool, catalogue)


def unknown_tool(name: str, known: Iterable[str]) -> ActionResult:
    """Return the failed result for a tool nobody declared, with near matches from ``known``."""
    names = sorted(known)
    suggestion = "Call one of the declared tools." if names else "This agent has no tools; answer in text."
    close = near(name.rsplit(".", 1)[-1], names) or near(name, names)
    recovery = ErrorRecovery(retryable=True, suggestion=suggestion, suggested_values=close)
    return failure("UNKNOWN_TOOL", f"no tool is named {name[:80]!r}", recovery)
