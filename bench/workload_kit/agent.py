"""The agent: the tools as actions, and a plugin whose state moves with every call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from wakeful import hookimpl
from wakeful.tools.loaders import action_from_data
from wakeful.types import Action, ActionContext, ActionResult, Effect, Fragment, Result, RowKind, Run, Trust
from workload_kit.tools import answer, tools

#: Notes that are kept; the oldest go.
NOTES = 14
#: Characters from which an answer is listed as an artifact.
LARGE = 8000


def actions() -> list[Action]:
    """Return the sixty actions."""
    return [_action(tool) for tool in tools()]


def _action(tool: Mapping[str, Any]) -> Action:
    name = tool["name"]

    async def run(arguments: Mapping[str, Any], ctx: ActionContext) -> ActionResult:
        del ctx
        found = answer(name, dict(arguments))
        output = "rows" if isinstance(found, list) else "page" if isinstance(found, str) else "tree"
        return ActionResult(outputs={output: found})

    data = {"name": name, "description": tool["description"], "input_schema": tool["schema"]}
    return action_from_data(data, run, effect=Effect.READ, output_trust=Trust.TRUSTED)


class Notes:
    """Keeps notes of what was called, a list of large answers, the time and a counter.

    Each thing that changes by itself is a fragment of its own. Where another plugin keeps large answers and
    lists them, this one does not list them once more.

    Args:
        lists: whether large answers are listed.
    """

    name = "notes"

    def __init__(self, *, lists: bool) -> None:
        self.lists = lists

    @hookimpl
    def prompt_state(self, run: Run) -> list[Fragment]:
        """Give the state as it is after the last call."""
        calls = {call.id: call for row in run.rows for call in row.calls}
        answered = [
            calls[item.call_id]
            for row in run.rows
            if row.kind is RowKind.RESULT
            for item in row.items
            if isinstance(item, Result) and item.call_id in calls
        ]
        count = len(answered)
        fragments = [
            Fragment("time", 0, f"2026-11-29T09:{count // 60:02}:{count % 60:02}Z"),
            Fragment("tool calls so far", 1, str(count)),
        ]
        large = 0
        for number, call in enumerate(answered, 1):
            args = json.loads(call.args)
            text = json.dumps({"rows": answer(call.tool, args)})
            if number > count - NOTES:
                what = next(iter(args.values()), "-")
                said = f"{call.tool} for {what}: {len(text)} characters, first entry {text[24:64]!r}"
                fragments.append(Fragment(f"note {number}", 2 + number, said))
            if self.lists and len(text) > LARGE:
                large += 1
                said = f"{call.tool}, {len(text)} characters, seen at step {number}"
                fragments.append(Fragment(f"artifact {large}", 1000 + large, said))
        return fragments
