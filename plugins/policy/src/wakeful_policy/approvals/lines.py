"""A request in lines of text: the arguments themselves, and where each came from. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from wakeful.types import Json, canonical
from wakeful.types.words import in_line
from wakeful_policy.approvals.origins import shown_name
from wakeful_policy.approvals.questions import heard
from wakeful_policy.approvals.tables import Stored


def lines(stored: Stored) -> Iterator[str]:
    """Return what people are shown of a request, each thing in one line, whoever wrote it."""
    return map(in_line, _lines(stored))


def _lines(stored: Stored) -> Iterator[str]:
    status = "" if stored.status == "pending" else f" [{stored.status} by {stored.decided_by or 'nobody'}]"
    if stored.kind == "question":
        yield f"{stored.id}: {stored.args.get('question', '')}{status}"
        if "enum" in stored.expected:
            yield f"  one of: {canonical(stored.expected['enum'])}"
        if said := heard(stored.provenance):
            yield f"  {said}"
        if stored.answer is not None:
            yield f"  answered: {canonical(stored.answer)}"
        return
    yield f"{stored.id}: {stored.action}{status}"
    came = {each["argument"]: _came(each) for each in stored.provenance}
    for name, value in ((shown_name(name), value) for name, value in stored.args.items()):
        inside = [f"{path}: {text}" for path, text in came.items() if path != name and _within(path, name)]
        origin = came.get(name) or "; ".join(inside)
        yield f"  {name} = {canonical(value)}" + (f"  ({origin})" if origin else "")
    if stored.decided_args is not None:
        yield f"  changed to: {canonical(stored.decided_args)}"
    if stored.answer is not None:
        yield f"  answered: {canonical(stored.answer)}"
    if stored.reason:
        yield f"  why: {stored.reason}"


def _within(path: str, name: str) -> bool:
    return path.startswith((f"{name}.", f"{name}["))


def _came(origin: dict[str, Json]) -> str:
    match origin["from"]:
        case "user":
            return "from the user's words"
        case "model":
            held = ", ".join(map(str, origin.get("holds", ())))
            what = f"; {held} from outside: {origin['source']}, {origin['trust']}" if held else ""
            return f"written by the model{what}"
        case kind:
            said = "from outside" if kind == "outside" else "from"
            return f"{said}: {origin['source']}, {origin['trust']}"
