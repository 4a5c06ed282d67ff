"""What must be true of a flow as a graph, and of what it puts where."""

from __future__ import annotations

from collections.abc import Iterator

from wakeful.types import Problem
from wakeful_agents.flow.model import END, Flow, FlowStep, Output

#: Which kinds of values may stand where another is declared.
_ANY = "any"


def check_graph(flow: Flow, where: str) -> list[Problem]:
    """Return what is wrong: steps nobody reaches, ways that never end, mappings of the wrong type."""
    found = [
        *_unreachable(flow),
        *_endless(flow),
        *(problem for step in flow.steps.values() for problem in _mappings(flow, step)),
    ]
    return [Problem(f"{where}: {place}", what) for place, what in found]


def reachable(flow: Flow) -> set[str]:
    """Return the steps that a run may come to."""
    seen, todo = set[str](), [flow.start]
    while todo:
        name = todo.pop()
        if name not in seen and name != END:
            seen.add(name)
            todo += flow.steps[name].ways
    return seen


def _unreachable(flow: Flow) -> Iterator[tuple[str, str]]:
    for name in flow.steps.keys() - reachable(flow):
        yield f"steps.{name}", f"no way leads there from the start, {flow.start!r}"


def _endless(flow: Flow) -> Iterator[tuple[str, str]]:
    """Name the steps from which no way leads to the end."""
    ending = {END}
    while True:
        more = {name for name, step in flow.steps.items() if name not in ending and ending & set(step.ways)}
        if not more:
            break
        ending |= more
    for name in sorted(reachable(flow) - ending):
        yield f"steps.{name}", f"no way leads from here to {END!r}: a cycle without exit"


def _mappings(flow: Flow, step: FlowStep) -> Iterator[tuple[str, str]]:
    where = f"steps.{step.name}"
    if step.loop and step.loop.each:
        declared = _declared(flow, step.loop.each.path)
        if declared not in {_ANY, "list"}:
            yield f"{where}.for_each", f"runs over a {declared}; expected a list"
    for output in step.outputs:
        declared, given = _declared(flow, output.target), _given(step, output)
        if _ANY not in {declared, given} and declared != given:
            place = ".".join(str(part) for part in output.target)
            yield f"{where}.output.{place}", f"puts a {given} where a {declared} is declared"


def _declared(flow: Flow, path: tuple[str | int, ...]) -> str:
    """Return what a place of the payload is declared as; inside a declared place it may be anything."""
    return flow.types.get(str(path[0]), _ANY) if len(path) == 1 else _ANY


def _given(step: FlowStep, output: Output) -> str:
    return step.gives[output.source] if not output.path else _ANY
