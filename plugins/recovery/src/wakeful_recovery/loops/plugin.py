"""The plugin: two actions that run others, and the stage that keeps their results short."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path

from attrs import evolve, frozen

from wakeful.hookspecs import hookimpl
from wakeful.types import (
    Action,
    ActionContext,
    ActionResult,
    Effect,
    Json,
    Param,
    Phase,
    ResultCode,
    Services,
    Spooled,
    Stage,
    Trust,
)
from wakeful_recovery.loops.conditions import OPERATORS
from wakeful_recovery.loops.running import Runner
from wakeful_recovery.loops.settings import LoopsSettings

Run = Callable[[Mapping[str, Json], ActionContext], Awaitable[ActionResult]]

#: Seconds that a loop has beyond its own limit, to say what it did.
GRACE = 60.0
#: Characters of the results that are shown, where no plugin keeps them elsewhere.
SHOWN_CHARS = 8_000

_TEXT, _OBJECT = {"type": "string"}, {"type": "object"}
_ITEMS = {"type": ["array", "string"], "items": {}}
_ACTION = "name of the action to run"
_ARGS = (
    "its arguments; a text that is exactly item, item.path, index, last.path or payload.path stands for the "
    "value there, anything else is literal"
)
_FAILURES = "failed iterations after which to stop; 0: never"
_CODES = (
    ResultCode("SUCCESS", success=True, description="no iteration failed; staged ones wait as drafts"),
    ResultCode("PARTLY_FAILED", success=True, description="some iterations failed; see failures"),
    ResultCode("ALL_FAILED", success=False, description="no iteration succeeded"),
    ResultCode("STOPPED", success=False, description="a limit was reached; what was done is listed"),
)


class Loops:
    """Runs actions for many items, or while a condition holds, without a model call for each."""

    Settings = LoopsSettings

    def __init__(self, settings: LoopsSettings, services: Services) -> None:
        """Keep the settings."""
        self._settings, self._services = settings, services

    @hookimpl
    def tool_actions(self) -> Sequence[Action]:
        """Give ``for_each`` and ``while``."""
        runner = Runner(self._settings, self._services)
        each = {
            "action": (_TEXT, _ACTION),
            "args": (_OBJECT, _ARGS),
            "items": (_ITEMS, "the items, or the place of a list in the payload, like payload.path"),
            "from_action": (_TEXT, "instead of items: an action to call once, whose list is gone through"),
            "from_args": (_OBJECT, "its arguments"),
            "from_output": (_TEXT, "which of its outputs, if it returns several lists"),
            "max_failures": ({"type": "integer", "minimum": 0}, _FAILURES),
        }
        repeat = {
            "action": (_TEXT, _ACTION),
            "args": (_OBJECT, _ARGS),
            "value": (_TEXT, "what is looked at before each iteration, e.g. last.next_page or payload.open"),
            "operator": ({"type": "string", "enum": sorted(OPERATORS)}, "how it is looked at"),
            "operand": (_TEXT, "what it is compared with, if the operator compares"),
            "max_iterations": ({"type": "integer", "minimum": 1}, "iterations after which to stop"),
            "max_failures": ({"type": "integer", "minimum": 0}, _FAILURES),
        }
        return (
            self._action(
                "For Each",
                "Run one action for every item of a list without coming back in between. Call it instead of "
                "calling the action many times. Returns how many were processed and failed, and the results.",
                each,
                ("action",),
                runner.for_each,
            ),
            self._action(
                "While",
                "Run one action again and again while a condition holds, e.g. through the pages of a list; "
                "last is the result of the iteration before. Returns how many iterations ran and failed, and "
                "the results.",
                repeat,
                ("action", "value", "operator"),
                runner.repeat,
            ),
        )

    @hookimpl
    def result_stages(self) -> Sequence[Stage]:
        """Give the stage that shows the first results where no plugin keeps long outputs elsewhere."""
        return (Shortened(self._settings, self._services),)

    def _action(
        self,
        name: str,
        description: str,
        fields: Mapping[str, tuple[Json, str]],
        required: Sequence[str],
        run: Run,
    ) -> Action:
        properties = {key: {**schema, "description": text} for key, (schema, text) in fields.items()}
        return Action(
            name=name,
            description=description,
            schema={"type": "object", "properties": properties, "required": list(required)},
            run=run,
            effect=Effect.READ,  # by itself it changes nothing; what it calls is judged on its own
            output_trust=Trust.TRUSTED,
            idempotent=True,
            params=tuple(
                Param(text, name=key, schema=properties[key], required=key in required)
                for key, (_, text) in fields.items()
            ),
            result_codes=_CODES,
            category="loops",
            timeout_s=self._settings.max_seconds + GRACE,
            message_type="loop-result",
        )


@frozen(eq=False)
class Shortened:
    """The stage. It comes after those that bound outputs, and leaves alone what they have bounded."""

    settings: LoopsSettings
    services: Services
    phase: Phase = Phase.RECOVER
    name: str = "loops"

    async def apply(self, ctx: ActionContext, action: Action | None, result: ActionResult) -> ActionResult:  # noqa: ARG002  (the protocol)
        """Return a loop's result with the first records and how many there are."""
        if action is None or action.message_type != "loop-result" or "results" not in result.outputs:
            return result
        value = result.outputs["results"]
        if isinstance(value, Spooled):
            many, first = value.rows or 0, self._first(self.services.files.path(value.ref))
        elif isinstance(value, list):
            many, first = len(value), value[: self.settings.shown_results]
        else:
            return result
        while first and sum(len(json.dumps(each)) for each in first) > SHOWN_CHARS:
            first = first[: len(first) // 2]
        if len(first) == many:
            return result
        shown = f"{result.message}; the first {len(first):,} of {many:,} results are shown"
        return evolve(result, message=shown, outputs={**result.outputs, "results": first})

    def _first(self, path: Path) -> list[Json]:
        with path.open(encoding="utf-8") as content:
            return [json.loads(line) for line in islice(content, self.settings.shown_results)]
