"""Reading the one JSON object of an answer, and saying what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from attrs import frozen

from wakeful.types import Json, canonical, nearest, tool_name

#: Kinds of next steps. The name of an action is one as well, e.g. of one that runs a loop.
NEXT = ("actions", "chat", "complete")
#: The kind that hands a task to the sub-agent which it names.
DELEGATE = "sub_agent"


class FormError(ValueError):
    """The answer does not have the form; the text says what to correct."""


@frozen
class Step:
    """What a model wants next: a message, and the actions it asks for as (name, arguments)."""

    message: str
    actions: tuple[tuple[str, str], ...] = ()


def parse(text: str, names: Collection[str]) -> Step:
    """Return what an answer asks for.

    A code fence that wraps the whole answer is stripped if what is inside parses; an object that does not
    parse is repaired by a library.

    Args:
        text: the model's answer.
        names: the actions that are declared.

    Raises:
        FormError: no object, an unknown kind of next step, an action nobody declared.
    """
    value = _object(text)
    message = value.get("message", "")
    if not isinstance(message, str):
        raise FormError(f'"message" must be a string, not {canonical(message)[:80]}')
    step = value.get("next", {"type": "chat"})
    kind = step.get("type") if isinstance(step, Mapping) else step
    if kind not in NEXT:
        if isinstance(step, Mapping) and isinstance(kind, str) and (kind == DELEGATE or kind in names):
            return Step(message, (_alone(step, kind, names),))
        raise FormError(f'"next.type" must be one of {", ".join(NEXT)}{nearest(str(kind), NEXT)}')
    if kind != "actions":
        if isinstance(step, Mapping) and step.get("actions"):
            raise FormError(f'"next.type" is {kind} but there are actions; to run them it must be actions')
        return Step(message)
    actions = step.get("actions") if isinstance(step, Mapping) else None
    if not isinstance(actions, list) or not actions:
        raise FormError('"next.actions" must be a list of {"name", "args"} objects')
    return Step(message, tuple(_action(item, names) for item in actions))


def _alone(step: Mapping[str, Json], kind: str, names: Collection[str]) -> tuple[str, str]:
    """Return the action of a step that is one: its type names it, or the agent that is to do it."""
    rest = {key: value for key, value in step.items() if key != "type"}
    if kind == DELEGATE:
        agent = rest.pop("agent", None) or rest.pop("name", "")
        kind = f"delegate_to_{tool_name(str(agent))}"
    return _action({"name": kind, "args": rest.get("args", rest)}, names)


def _action(item: Json, names: Collection[str]) -> tuple[str, str]:
    if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
        raise FormError(f'each action needs a "name" and "args", got {canonical(item)[:80]}')
    name = item["name"]
    if name not in names:
        raise FormError(f"no action is named {name!r}{nearest(name, names)}")
    args = item.get("args", {})
    return name, args if isinstance(args, str) else canonical(args)


def _object(text: str) -> Mapping[str, Json]:
    for candidate in (text.strip(), _unfenced(text)):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        return _formed(value)
    objects = _objects(_unfenced(text))
    if objects is None:
        # A library would close what was cut, and run an action with half of its arguments.
        raise FormError(f"the answer is cut or unbalanced; {_EXPECTED}")
    if objects > 1:  # it would take one and drop the others
        raise FormError(f"the answer holds {objects} objects; {_EXPECTED}")
    from json_repair import repair_json

    try:
        return _formed(repair_json(_unfenced(text), return_objects=True))
    except RecursionError:
        raise FormError(f"the answer is nested too deeply; {_EXPECTED}") from None


_EXPECTED = "it must be one JSON object with the keys message and next, and nothing else"


def _formed(value: Json) -> Mapping[str, Json]:
    if not isinstance(value, dict) or not ("message" in value or "next" in value):
        raise FormError(f"the answer has another form; {_EXPECTED}")
    try:
        canonical(value)
    except ValueError:
        raise FormError("the answer holds NaN or an infinite number, which JSON does not have") from None
    except RecursionError:
        raise FormError(f"the answer is nested too deeply; {_EXPECTED}") from None
    return value


def _objects(text: str) -> int | None:
    """Return how many objects stand side by side; None if a bracket or a string that begins does not end."""
    depth, found, inside, escaped = 0, 0, False, False
    for sign in text:
        if inside:
            inside = sign != '"' or escaped
            escaped = sign == "\\" and not escaped
        elif sign == '"':
            inside, escaped = True, False
        elif sign in "{[":
            found += sign == "{" and not depth
            depth += 1
        elif sign in "}]":
            depth -= 1
    return found if depth == 0 and not inside else None


def _unfenced(text: str) -> str:
    """Return the text without its first and last line if these are a code fence."""
    lines = text.strip().splitlines()
    if len(lines) > 2 and lines[0].startswith("```") and lines[-1].strip() == "```":  # noqa: PLR2004  (two fences and something between)
        return "\n".join(lines[1:-1])
    return text.strip()
