"""What in a flow does not fit the agent that is to run it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wakeful.tools.arguments import check_arguments
from wakeful.types import Action, ActionResult, Problem, nearest
from wakeful_agents.flow.expressions import places
from wakeful_agents.flow.filling import delegate
from wakeful_agents.flow.model import Flow, FlowStep

_PREFIX = "delegate_to_"


def advise(flow: Flow, actions: Mapping[str, Action], where: str) -> list[Problem]:
    """Return every step that names an action, argument or sub-agent the agent does not have."""
    found = [(step, what) for step in flow.steps.values() for what in _wrong(step, actions)]
    return [Problem(f"{where}: steps.{step.name}.{key}", what) for step, (key, what) in found]


def _wrong(step: FlowStep, actions: Mapping[str, Action]) -> Iterator[tuple[str, str]]:
    if step.kind == "sub_agent" and delegate(step) not in actions:
        known = [name.removeprefix(_PREFIX) for name in actions if name.startswith(_PREFIX)]
        yield "sub_agent", f"the agent has no sub-agent {step.does!r}{nearest(step.does, known)}"
    if step.kind != "action":
        return
    action = actions.get(step.does)
    if action is None:
        yield "action", f"the agent has no action {step.does!r}{nearest(step.does, actions)}"
        return
    yield from _arguments(step, action)


def _arguments(step: FlowStep, action: Action) -> Iterator[tuple[str, str]]:
    schema = action.schema if isinstance(action.schema, dict) else {}
    known = schema.get("properties", {})
    closed = schema.get("additionalProperties", False) is False
    for name in step.args:
        if name not in known and closed:
            yield f"args.{name}", f"{step.does} takes no such argument{nearest(name, known)}"
    for name in schema.get("required", ()):
        if name not in step.args:
            yield "args", f"{step.does} needs the argument {name!r}"
    literal = {name: value for name, value in step.args.items() if name in known and not places(value)}
    checked = check_arguments(action, literal) if literal else {}
    if isinstance(checked, ActionResult) and checked.recovery:
        for param in checked.recovery.invalid_params:
            if param.param.partition(".")[0] in literal:
                yield f"args.{param.param}", param.reason
