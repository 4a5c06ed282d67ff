"""A flow as values: steps that name the next one, read from a file and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from wakeful.types import Json
from wakeful_agents.flow.expressions import Condition, Place
from wakeful_agents.payload.paths import Path

#: The name that ends a flow wherever the name of a step may stand.
END: Final = "end"
#: Kinds of steps; each is the key that holds what the step does.
KINDS: Final = ("action", "prompt", "sub_agent", "branch")
#: Most iterations of a ``while`` that says nothing, and of any loop.
WHILE_MOST, LOOP_MOST = 1_000, 100_000

#: What an output mapping may take from a step of each kind, with the kind of value it gives.
SOURCES: Final[Mapping[str, Mapping[str, str]]] = {
    "action": {"outputs": "any", "code": "text", "message": "text", "success": "boolean"},
    "prompt": {"text": "text", "json": "any"},
    "sub_agent": {"text": "text", "payload": "any", "success": "boolean"},
    "loop": {"results": "list", "count": "number", "staged": "number", "errors": "list"},
}
#: What a payload's places may be declared as.
TYPES: Final = ("text", "number", "boolean", "list", "object", "any")


@frozen
class Output:
    """One line of an output mapping: a place in the payload, and what goes there."""

    target: Path
    source: str
    path: Path = ()


@frozen
class Case:
    """One way out of a branch; without a condition it is taken if no other is."""

    next: str
    when: Condition | None = None


@frozen
class Loop:
    """What makes a step run more than once: a list, a condition, or nothing."""

    each: Place | None = None
    condition: Condition | None = None
    most: int = LOOP_MOST

    def __bool__(self) -> bool:
        """Whether it is one."""
        return self.each is not None or self.condition is not None


@frozen
class FlowStep:
    """One step.

    Args:
        name: its key in the file.
        kind: one of :data:`KINDS`.
        does: the action's name, the prompt's text or the sub-agent's name.
        args: template of the arguments; for a sub-agent of its payload.
        message: what a sub-agent is told.
        outputs: what goes where in the payload.
        next: the step that follows; :data:`END` ends.
        on_error: the step that follows a failure; empty: the flow fails.
        cases: ways out of a branch.
        loop: of an action or sub-agent that runs more than once.
    """

    name: str
    kind: str
    does: str = ""
    args: Json = field(factory=dict)
    message: str = ""
    outputs: tuple[Output, ...] = ()
    next: str = END
    on_error: str = ""
    cases: tuple[Case, ...] = ()
    loop: Loop = Loop()

    @property
    def ways(self) -> tuple[str, ...]:
        """The names of what may follow."""
        if self.kind == "branch":
            return tuple(dict.fromkeys(case.next for case in self.cases))
        return tuple(dict.fromkeys(name for name in (self.next, self.on_error) if name))

    @property
    def gives(self) -> Mapping[str, str]:
        """What an output mapping may take from it."""
        return SOURCES["loop"] if self.loop.each else SOURCES.get(self.kind, {})


@frozen
class Flow:
    """A checked flow.

    Args:
        start: the first step.
        steps: by name, in the order of the file.
        answer: the text of the answer, with places in braces.
        types: what places of the payload, as they are spelled, are declared as.
        payload: the document that a run begins with if it is given none.
    """

    start: str
    steps: Mapping[str, FlowStep]
    answer: str = ""
    types: Mapping[str, str] = field(factory=dict)
    payload: Json = field(factory=dict)
