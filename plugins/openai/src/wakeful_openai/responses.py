"""The Responses API: items out, items in, reasoning replayed as it came."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from wakeful.models.names import NAME_LIMIT, within
from wakeful.types import Call, Emit, Item, Json, Opaque, Reply, Request, Result, Text, Tool, Usage
from wakeful_openai.facts import PROVIDER
from wakeful_openai.form import MARK, Form, Reader
from wakeful_openai.ids import sent
from wakeful_openai.responses_reply import NAMESPACE, PHASE, ResponsesReader, read_response
from wakeful_openai.usage import read_usage

#: Characters of a call's id that the API takes.
LONGEST_ID = 64
#: Kinds of opaque items that another protocol of this provider wrote.
_FOREIGN = frozenset({"reasoning_content", PHASE, NAMESPACE})
#: Kinds of notes on the item that follows, and the field of it that each of them fills.
NOTES = {PHASE: "phase", NAMESPACE: "namespace"}
#: What the provider's own search leaves in a transcript.
_SEARCHED = frozenset({"tool_search_call", "tool_search_output", NAMESPACE})


class ResponsesForm(Form):
    """``POST /responses``, stateless: everything is sent each time, nothing is kept by the server."""

    path: ClassVar[str] = "/responses"
    field: ClassVar[str] = "input"
    own_fields: ClassVar[frozenset[str]] = frozenset(
        {"model", "input", "instructions", "tools", "stream", "store", "include", "prompt_cache_key"}
        | {"max_output_tokens", "parallel_tool_calls", "prompt_cache_options", "previous_response_id"}
    )

    def fixed(self, *, stream: bool) -> dict[str, Json]:
        """Return the fields that are the same in every request."""
        target = self.target
        fields: dict[str, Json] = {"model": target.model, "store": target.store}
        if target.facts.reasoning:
            fields["include"] = ["reasoning.encrypted_content"]
        if target.max_tokens:
            fields["max_output_tokens"] = target.max_tokens
        reasoning = {"effort": target.effort, "summary": target.summary}
        if target.effort or target.summary:
            fields["reasoning"] = {name: value for name, value in reasoning.items() if value}
        if stream:
            fields["stream"] = True
            if target.official:
                fields["stream_options"] = {"include_obfuscation": False}
        return fields

    def tool(self, tool: Tool) -> Json:
        """Return one tool's declaration; schemas are taken as they are, so not strict."""
        declared = {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema,
            "strict": False,
        }
        deferred = tool.deferred and self.target.facts.tool_search
        return {**declared, "defer_loading": True} if deferred else declared

    def tools(self, tools: tuple[Tool, ...]) -> list[Json]:
        """Return the declarations, with the provider's search where tools are deferred behind it."""
        search: list[Json] = [{"type": "tool_search"}] if self._searches(tools) else []
        return [*search, *super().tools(tools)]

    def _searches(self, tools: tuple[Tool, ...]) -> bool:
        return self.target.facts.tool_search and any(tool.deferred for tool in tools)

    def sendable(self, request: Request) -> tuple[int, ...] | None:
        """Return which items go; what was searched goes only where there still is a search."""
        if self._searches(request.tools) or not any(map(_of_search, request.items)):
            return None
        return tuple(at for at, item in enumerate(request.items) if not _of_search(item))

    def system(self, texts: tuple[str, ...], *, marked: bool) -> Json:
        """Return a first message, which can be marked; ``instructions`` cannot."""
        if not self.target.marks:
            return {"type": "message", "role": "system", "content": "\n\n".join(texts)}
        return {"type": "message", "role": "system", "content": _parts(texts, marked=marked)}

    def messages(
        self, items: tuple[Item, ...], start: int, marked: frozenset[int]
    ) -> Iterator[tuple[int, Json]]:
        """Yield one input item for each item; a note on it joins the text or call that follows."""
        noted: dict[str, Json] = {}
        for place in range(start, len(items)):
            item = items[place]
            note = NOTES.get(_kind(item)) if isinstance(item, Opaque) and item.provider == PROVIDER else None
            if note is not None and isinstance(item, Opaque):
                noted[note] = item.data.get(note)
                continue
            message = self._message(item, marked=place in marked)
            if isinstance(item, Opaque) and not _leads_on(items, place):
                message = None
            for name, kind in (("phase", Text), ("namespace", Call)):
                if noted.get(name) is not None and isinstance(item, kind) and isinstance(message, dict):
                    message[name] = noted[name]
            noted = {}
            yield place + 1, message

    def _message(self, item: Item, *, marked: bool) -> Json:
        if isinstance(item, Text):
            content: Json = item.text
            if self.target.marks and item.role == "user":
                content = _parts((item.text,), marked=marked)
            return {"type": "message", "role": item.role, "content": content}
        if isinstance(item, Call):
            name, marker = within(item.tool, NAME_LIMIT), sent(item.id, LONGEST_ID)
            return {"type": "function_call", "call_id": marker, "name": name, "arguments": item.args}
        if isinstance(item, Result):
            output: Json = _parts((item.text,), marked=marked) if self.target.marks else item.text
            marker = sent(item.call_id, LONGEST_ID)
            return {"type": "function_call_output", "call_id": marker, "output": output}
        return item.data if item.provider == PROVIDER and self._replays(item) else None

    def _replays(self, item: Opaque) -> bool:
        kind = _kind(item)
        if kind == "reasoning" and not self.target.facts.reasoning:
            return False  # of another model of this provider; one without reasoning refuses it
        if kind == "reasoning" and not self.target.store:
            return bool(item.data.get("encrypted_content"))  # else the server would look it up and fail
        return kind != "" and kind not in _FOREIGN

    def reader(self, request: Request, emit: Emit | None) -> Reader:
        """Return what takes in a streamed reply."""
        return ResponsesReader(request, emit, self.faults)

    def reply(self, body: Json, request: Request) -> Reply:
        """Return the reply that arrived as a whole."""
        return read_response(body, request, self.faults)

    def usage(self, body: Json) -> Usage | None:
        """Return what a body says was used, if it does."""
        usage = read_usage(body.get("usage")) if isinstance(body, dict) else None
        return usage if usage is not None and usage.reported else None


def _leads_on(items: tuple[Item, ...], place: int) -> bool:
    """Whether more of the model's own follows: the API refuses reasoning that led to nothing."""
    if place + 1 >= len(items):
        return False
    following = items[place + 1]
    return isinstance(following, Call | Opaque) or (isinstance(following, Text) and following.role != "user")


def _of_search(item: Item) -> bool:
    return isinstance(item, Opaque) and item.provider == PROVIDER and _kind(item) in _SEARCHED


def _kind(item: Opaque) -> str:
    kind = item.data.get("type") if isinstance(item.data, dict) else None
    return kind if isinstance(kind, str) else ""


def _parts(texts: tuple[str, ...], *, marked: bool) -> list[Json]:
    parts: list[Json] = [{"type": "input_text", "text": text} for text in texts]
    if marked:
        parts[-1]["prompt_cache_breakpoint"] = MARK
    return parts
