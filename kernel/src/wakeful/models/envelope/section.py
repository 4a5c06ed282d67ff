"""The static section that tells a model without tools what it may do and how to say so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wakeful.types import Json, Tool, canonical

_FORM = """\
# How to answer
Answer with one JSON object and nothing else:
{"message": "<text for the user>", "next": {"type": "actions", "actions": [{"name": "<action>", "args": {}}]}}
- "next": {"type": "actions", …} runs the actions; their results come with the next message.
- "next": {"type": "chat"} ends the turn with your message; {"type": "complete"} when the task is done."""


def section(tools: Sequence[Tool]) -> str:
    """Return the section: the form of an answer, then every action, sorted as the tools are."""
    if not tools:
        return _FORM
    actions = "\n\n".join(_action(tool) for tool in tools)
    return f"{_FORM}\n\n# Actions\nInputs marked * are required.\n\n{actions}"


def _action(tool: Tool) -> str:
    inputs = list(_inputs(tool.schema))
    listed = "\n".join(inputs) if inputs else "- no inputs"
    return f"## {tool.name}\n{tool.description}\nInputs:\n{listed}"


def _inputs(schema: Mapping[str, Json]) -> Iterator[str]:
    required = set(schema.get("required", ()))
    for name, shape in sorted(schema.get("properties", {}).items()):
        star = "*" if name in required else ""
        default = f" = {canonical(shape['default'])}" if "default" in shape else ""
        text = f": {shape['description']}" if shape.get("description") else ""
        yield f"- `{name}`{star} ({_type(shape)}{default}){text}"


def _type(shape: Mapping[str, Json]) -> str:
    """Return a schema in a few words; what has no short form is given as JSON."""
    if "enum" in shape:
        return " | ".join(canonical(value) for value in shape["enum"])
    if shape.get("type") == "array":
        return f"list of {_type(shape.get('items', {}))}"
    if shape.get("type") == "object" or "anyOf" in shape:
        return canonical(
            {key: value for key, value in shape.items() if key not in {"description", "default"}}
        )
    kinds = shape.get("type", "any")
    kind = " | ".join(kinds) if isinstance(kinds, list) else str(kinds)
    return f"{kind}, {shape['format']}" if "format" in shape else kind
