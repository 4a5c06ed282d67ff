"""Checking that what was sent before is repeated: the assertion behind ``assert_prefix_stable``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from wakeful.testing.databases import Database

_CALLS = """
    SELECT run.agent AS agent, run.id AS run, model_call.step AS step, model_call.prompt AS prompt
    FROM model_call JOIN run ON run.id = model_call.run_id
    WHERE run.conversation_id = ? AND model_call.kind = 'step' ORDER BY model_call.id
"""
_PRINTED = "SELECT count(*) AS n FROM epoch WHERE conversation_id = ? AND sent IS NOT NULL"


@frozen
class PrefixStable:
    """Fails a test whose conversation broke its prefix; the fixture ``assert_prefix_stable``.

    Args:
        database: where the conversation is stored.
    """

    database: Database

    def __call__(self, conversation: str, *, declared: bool = True) -> int:
        """Check the requests of a conversation so far; return how many were checked.

        Args:
            conversation: its id.
            declared: whether declared breaks are accepted: new epochs with a cause, announced rewrites.

        Raises:
            AssertionError: a request does not repeat the one before it, with section, plugin and both texts;
                or there is nothing to check.
        """
        calls = self.database.rows(_CALLS, conversation)
        assert calls, f"conversation {conversation!r} has no requests"
        printed = self.database.rows(_PRINTED, conversation)[0]["n"]
        assert printed, (
            f"the requests of conversation {conversation!r} have no fingerprints: the agent needs a layout"
            " that makes them (hook prompt_layout)"
        )
        for call in calls:
            change = json.loads(call["prompt"]).get("change")
            if change and not (declared and change["declared"]):
                raise AssertionError(_told(call, change))
        return len(calls)


def _told(call: Mapping[str, Any], change: Mapping[str, Any]) -> str:
    whose = f" of plugin {change['plugin']!r}" if change["plugin"] else ""
    how = "declared" if change["declared"] else "undeclared"
    return (
        f"run {call['run']} step {call['step']}: {how} break of the prefix: {change['section']}{whose}: "
        f"{change['reason']}\n  before: {change['before']!r}\n  after:  {change['after']!r}"
    )
