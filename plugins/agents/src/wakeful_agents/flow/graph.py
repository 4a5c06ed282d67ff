"""What must be true of a flow as a graph, and of what it puts where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from wakeful.types import Problem
from wakeful_agents.flow.kinds import ANY, mistakes
from wakeful_agents.flow.model import END, Flow, FlowStep, Output
from wakeful_agents.payload.paths import MISSING, Path, look, parse_path, spell

#: What the declared kinds of values are.
_VALUES: Final[Mapping[str, tuple[type, ...]]] = {
    "text": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "list": (list,),
    "object": (dict,),
}


def check_graph(flow: Flow, where: str) -> list[Problem]:
    """Return what is wrong: steps nobody reaches, ways that never end, mappings of the wrong type."""
    found = [
        *_begun(flow),
        *_unreachable(flow),
        *_endless(flow),
        *_circles(flow),
        *(problem for step in flow.steps.values() for problem in _conditions(flow, step)),
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


def _circles(flow: Flow) -> Iterator[tuple[str, str]]:
    """Name the branches that lead to themselves with no step in between that could change anything."""
    for name, step in flow.steps.items():
        seen, todo = set[str](), list(step.ways) if step.kind == "branch" else []
        while todo:
            way = todo.pop()
            if way != END and way not in seen and flow.steps[way].kind == "branch":
                seen.add(way)
                todo += flow.steps[way].ways
        if name in seen:
            yield f"steps.{name}", "branches lead in a circle, with no step in between that does anything"


def _conditions(flow: Flow, step: FlowStep) -> Iterator[tuple[str, str]]:
    found = [(f"branch[{index}].when", case.when) for index, case in enumerate(step.cases)]
    found.append(("while", step.loop.condition))
    for key, condition in found:
        if condition is not None:
            yield from ((f"steps.{step.name}.{key}", what) for what in mistakes(condition, flow.types))


def _mappings(flow: Flow, step: FlowStep) -> Iterator[tuple[str, str]]:
    where = f"steps.{step.name}"
    if step.loop.each:
        declared = _declared(flow, step.loop.each.path)
        if declared not in {ANY, "list"}:
            yield f"{where}.for_each", f"runs over a {declared}; expected a list"
    for output in step.outputs:
        declared, given = _declared(flow, output.target), _given(step, output)
        if ANY not in {declared, given} and declared != given:
            yield f"{where}.output.{spell(output.target)}", f"puts a {given} where a {declared} is declared"


def _begun(flow: Flow) -> Iterator[tuple[str, str]]:
    """Name what the payload begins with that is not what its place is declared as."""
    for place, declared in flow.types.items():
        value = look(flow.payload, parse_path(place))
        kinds = _VALUES.get(declared)
        if value is MISSING or kinds is None:
            continue
        if not isinstance(value, kinds) or (isinstance(value, bool) and declared != "boolean"):
            yield f"payload.{place}", f"is {value!r:.80} where a {declared} is declared"


def _declared(flow: Flow, path: Path) -> str:
    """Return what a place of the payload is declared as; where nothing is it may be anything."""
    return flow.types.get(spell(path), ANY)


def _given(step: FlowStep, output: Output) -> str:
    return step.gives[output.source] if not output.path else ANY
