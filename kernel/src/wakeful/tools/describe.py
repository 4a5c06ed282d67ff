"""What a model is shown of an action: its text, bounded, and its schema with bounded texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from wakeful.types import Action, Json, Param, ResultCode, Tool

#: Longest tool description; longer ones cost accuracy.
DESCRIPTION_LIMIT = 1_024
#: Characters of all parameter texts together before they shrink.
PARAMETER_TEXTS_LIMIT = 1_024
#: Lengths to which long parameter texts shrink, step by step, before anything is cut.
STEPS = (160, 110, 70, 40, 0)

#: Keywords of a schema that hold named schemas, one schema, and a list of schemas.
_NAMED = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")


def describe(action: Action) -> str:
    """Return the action's text for a model, at most 1,024 characters.

    It says when to call it (the description), what it returns, and its result codes with ✓ or ✗.
    When it is too long, texts of outputs shrink step by step, then those of codes; only then is the
    description cut.
    """
    outputs = [param for param in action.params if param.direction != "input"]
    opening = action.description.strip() or action.name
    tails = [_tail(outputs, action.result_codes, None, None)]
    tails += [_tail(outputs, action.result_codes, step, None) for step in STEPS]
    tails += [_tail(outputs, action.result_codes, 0, step) for step in STEPS]
    for tail in tails:
        text = f"{opening}\n\n{tail}".strip()
        if len(text) <= DESCRIPTION_LIMIT:
            return text
    # Half of the room at most for names of outputs and codes: a description must stay readable.
    tail = shrink(tails[-1], DESCRIPTION_LIMIT // 2)
    room = DESCRIPTION_LIMIT - (len(tail) + 2 if tail else 0)
    return f"{shrink(opening, room)}\n\n{tail}".strip()


def declare_tool(action: Action) -> Tool:
    """Return the tool by which a model is shown the action; the same in every process."""
    schema = action.schema
    for step in STEPS:
        if _length_of_texts(schema) <= PARAMETER_TEXTS_LIMIT:
            break
        schema = _rewrite(action.schema, partial(shrink, length=step))
    return Tool(action.tool_name, describe(action), schema)


def shrink(text: str, length: int) -> str:
    """Return ``text`` in at most ``length`` characters, cut between words and marked with ``…``."""
    if len(text) <= length:
        return text
    if length <= 0:
        return ""
    cut = text[: length - 1]
    whole = cut.rpartition(" ")[0] if not text[length - 1].isspace() else cut
    return f"{(whole or cut).rstrip(' ,;:.')}…"


def _tail(
    outputs: list[Param], codes: tuple[ResultCode, ...], output_length: int | None, code_length: int | None
) -> str:
    lines = []
    if outputs:
        parts = [_labelled(param.name, param.description, output_length, ": ") for param in outputs]
        lines.append(f"Returns {'; '.join(parts)}")
    if codes:
        marks = [(f"{code.code} {'✓' if code.success else '✗'}", code.description) for code in codes]
        parts = [_labelled(label, text, code_length, " ") for label, text in marks]
        lines.append(f"Result codes: {'; '.join(parts)}")
    return "\n".join(lines)


def _labelled(label: str, text: str, length: int | None, between: str) -> str:
    shown = " ".join(text.split()).rstrip(".")
    shown = shown if length is None else shrink(shown, length)
    return f"{label}{between}{shown}" if shown else label


def _length_of_texts(schema: Json) -> int:
    lengths: list[int] = []

    def measure(text: str) -> str:
        lengths.append(len(text))
        return text

    _rewrite(schema, measure)
    return sum(lengths)


def _rewrite(schema: Any, change: Callable[[str], str]) -> Any:
    """Return ``schema`` with each of its texts changed; a text that becomes empty is left out.

    Only schemas are walked: a parameter may itself be named ``description``.
    """
    if not isinstance(schema, Mapping):
        return schema
    shown: dict[str, Json] = {}
    for key, part in schema.items():
        if key == "description" and isinstance(part, str):
            text = change(part)
            if text:
                shown[key] = text
        elif key in _NAMED and isinstance(part, Mapping):
            shown[key] = {name: _rewrite(inner, change) for name, inner in part.items()}
        elif key in _SINGLE:
            shown[key] = _rewrite(part, change)
        elif key in _LISTED and isinstance(part, list):
            shown[key] = [_rewrite(inner, change) for inner in part]
        else:
            shown[key] = part
    return shown
