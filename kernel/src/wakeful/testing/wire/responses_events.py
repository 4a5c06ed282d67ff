"""How the items of a response are streamed."""

from __future__ import annotations

from collections.abc import Iterator

from wakeful.testing.wire.canon import Body
from wakeful.testing.wire.dialect import split

Event = tuple[str, Body]


def item_events(index: int, item: Body) -> list[Event]:
    """Return the events of one output item: its kind and its data, without type and number.

    Args:
        index: place of the item in the output.
        item: the finished item.
    """
    if item["type"] == "message":
        middle = list(_message(index, item))
        start = {**item, "status": "in_progress", "content": []}
    elif item["type"] == "function_call":
        middle = list(_call(index, item))
        start = {**item, "status": "in_progress", "arguments": ""}
    elif item["type"] == "reasoning":
        middle = list(_reasoning(index, item))
        start = {key: value for key, value in item.items() if key != "encrypted_content"} | {"summary": []}
    else:
        middle, start = [], item
    return [
        ("response.output_item.added", {"output_index": index, "item": start}),
        *middle,
        ("response.output_item.done", {"output_index": index, "item": item}),
    ]


def _message(index: int, item: Body) -> Iterator[Event]:
    for place, part in enumerate(item["content"]):
        at = {"output_index": index, "item_id": item["id"], "content_index": place}
        kind = "refusal" if part["type"] == "refusal" else "text"
        name = "refusal" if kind == "refusal" else "output_text"
        more: Body = {"logprobs": []} if kind == "text" else {}
        yield "response.content_part.added", {**at, "part": {**part, kind: ""}}
        for piece in split(part[kind]):
            yield f"response.{name}.delta", {**at, "delta": piece, **more}
        yield f"response.{name}.done", {**at, kind: part[kind], **more}
        yield "response.content_part.done", {**at, "part": part}


def _call(index: int, item: Body) -> Iterator[Event]:
    """A call that was cut off is never done."""
    at = {"output_index": index, "item_id": item["id"]}
    for piece in split(item["arguments"]):
        yield "response.function_call_arguments.delta", {**at, "delta": piece}
    if item["status"] == "completed":
        done = {"name": item["name"], "arguments": item["arguments"]}
        yield "response.function_call_arguments.done", {**at, **done}


def _reasoning(index: int, item: Body) -> Iterator[Event]:
    for place, part in enumerate(item["summary"]):
        at = {"output_index": index, "item_id": item["id"], "summary_index": place}
        yield "response.reasoning_summary_part.added", {**at, "part": {**part, "text": ""}}
        for piece in split(part["text"]):
            yield "response.reasoning_summary_text.delta", {**at, "delta": piece}
        yield "response.reasoning_summary_text.done", {**at, "text": part["text"]}
        yield "response.reasoning_summary_part.done", {**at, "part": part}
