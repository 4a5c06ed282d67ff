"""What a step says and is given: its templates, filled with what the payload holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from wakeful.types import Ask, Json, Referred, Trust, tool_name
from wakeful_agents.flow.expressions import Place, Scope, fill, holes, pieces, places, written
from wakeful_agents.flow.model import FlowStep
from wakeful_agents.payload.held import Held
from wakeful_agents.payload.paths import Path

_SCALARS: Final = (str, int, float, bool, type(None))


def asked(step: FlowStep, document: Held, scope: Scope, saved: Mapping[str, Mapping[str, Json]]) -> Ask:
    """Return what a prompt asks; what in it is not trusted is left to the kernel to mark."""
    found = list(pieces(step.does, scope))
    parts = tuple(
        Referred(text, trust_of(document, used), source_of(document, used))
        for text, used in ((text, [place] if place else []) for text, place in found)
        if text
    )
    if all(part.trust is Trust.TRUSTED for part in parts):
        return Ask("".join(text for text, _ in found), step.name, saved)
    return Ask(name=step.name, saved=saved, parts=parts)


def arguments(
    step: FlowStep, template: Json, document: Held, scope: Scope, item: str = ""
) -> dict[str, Json]:
    """Return the arguments of a call.

    What is not trusted, or could itself be read as a reference, is left to the kernel to put in, which
    remembers where it came from.
    """
    found: dict[str, Json] = {}
    for name, part in template.items():
        value = fill(part, scope)
        used = places(part)
        worst = trust_of(document, used)
        plain = not used or (worst is Trust.TRUSTED and isinstance(value, _SCALARS))
        found[name] = value if plain else {"$from": f"flow.{step.name}{item}.{name}"}
    return found


def trust_of(document: Held, used: Sequence[Place]) -> Trust:
    """Return how far what stands at some places may be believed."""
    return max((document.trust(path) for path in _paths(used)), default=Trust.TRUSTED)


def source_of(document: Held, used: Sequence[Place]) -> str:
    """Return where what is not trusted at some places came from."""
    found = (document.source(path) for path in _paths(used))
    return ", ".join(dict.fromkeys(filter(None, found)))


def _paths(used: Sequence[Place]) -> list[Path]:
    """Return what of the payload stands at some places: an item may be any part; an index is no part."""
    return [each.path if each.root == "payload" else () for each in used if each.root != "index"]


def task(step: FlowStep, document: Held, scope: Scope, item: str = "") -> dict[str, Json]:
    """Return the arguments that delegate to a sub-agent; the kernel puts in what is not trusted."""
    trusted = trust_of(document, holes(step.message)) is Trust.TRUSTED
    message = written(step.message, scope) if trusted else {"$from": f"flow.{step.name}{item}.message"}
    more = arguments(step, {"payload": step.args}, document, scope, item) if step.args else {}
    return {"message": message, **more}


def delegate(step: FlowStep) -> str:
    """Return the tool that delegates to the step's sub-agent."""
    return f"delegate_to_{tool_name(step.does)}"
