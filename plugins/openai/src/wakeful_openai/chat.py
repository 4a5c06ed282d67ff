"""Chat Completions: OpenAI's older API, and what compatible servers speak."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from wakeful.models.names import NAME_LIMIT, within
from wakeful.types import Call, Emit, Item, Json, Opaque, Reply, Request, Result, Text, Tool, Usage, read_json
from wakeful_openai.chat_reply import REASONING, ChatReader, raw_usage, read_completion
from wakeful_openai.facts import PROVIDER
from wakeful_openai.form import MARK, Form, Reader
from wakeful_openai.ids import sent
from wakeful_openai.usage import read_usage

#: Characters of a call's id that OpenAI takes here; other servers make longer ones.
LONGEST_ID = 40


class ChatForm(Form):
    """``POST /chat/completions``."""

    path: ClassVar[str] = "/chat/completions"
    field: ClassVar[str] = "messages"
    own_fields: ClassVar[frozenset[str]] = frozenset(
        {"model", "messages", "tools", "stream", "stream_options", "prompt_cache_key", "n"}
        | {"max_tokens", "max_completion_tokens", "parallel_tool_calls", "prompt_cache_options", "functions"}
    )

    def fixed(self, *, stream: bool) -> dict[str, Json]:
        """Return the fields that are the same in every request."""
        target = self.target
        fields: dict[str, Json] = {"model": target.model}
        if target.max_tokens:
            fields["max_completion_tokens" if target.official else "max_tokens"] = target.max_tokens
        if target.effort:
            fields["reasoning_effort"] = target.effort
        if stream:
            fields["stream"] = True
            fields["stream_options"] = {"include_usage": True}
        return fields

    def tool(self, tool: Tool) -> Json:
        """Return one tool's declaration."""
        function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
        return {"type": "function", "function": function}

    def system(self, texts: tuple[str, ...], *, marked: bool) -> Json:
        """Return the system message."""
        if not self.target.marks:
            return {"role": "system", "content": "\n\n".join(texts)}
        return {"role": "system", "content": _parts(texts, marked=marked)}

    def messages(
        self, items: tuple[Item, ...], start: int, marked: frozenset[int]
    ) -> Iterator[tuple[int, Json]]:
        """Yield messages: what the model said and called is one, each result is one, user texts are one.

        Where marks are used each user text stays a message of its own, so that it can be marked.
        """
        place = start
        while place < len(items):
            end = self._end(items, place)
            yield end, self._message(items[place:end], marked=place in marked)
            place = end

    def _end(self, items: tuple[Item, ...], place: int) -> int:
        """Return the index after the last item of the message that begins at ``place``."""
        first, end = items[place], place + 1
        if isinstance(first, Result) or (_is_user(first) and self.target.marks):
            return end
        while end < len(items) and _belongs(items[end], user=_is_user(first)):
            end += 1
        return end

    def _message(self, items: Sequence[Item], *, marked: bool) -> Json:
        first = items[0]
        if isinstance(first, Result):
            output: Json = _parts((first.text,), marked=marked) if self.target.marks else first.text
            return {"role": "tool", "tool_call_id": sent(first.call_id, LONGEST_ID), "content": output}
        text = "\n\n".join(item.text for item in items if isinstance(item, Text))
        if _is_user(first):
            content: Json = _parts((text,), marked=marked) if self.target.marks else text
            return {"role": "user", "content": content}
        return self._assistant(items, text)

    def _assistant(self, items: Sequence[Item], text: str) -> Json:
        calls = [item for item in items if isinstance(item, Call)]
        if not calls and not text:
            return None  # nothing but another protocol's own items
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        for item in items:
            if isinstance(item, Opaque) and item.provider == PROVIDER and self.target.facts.replay_reasoning:
                data = item.data if isinstance(item.data, dict) else {}
                if data.get("type") == REASONING:
                    message[data["field"]] = data["text"]
        if calls:
            message["tool_calls"] = [self._call(call) for call in calls]
        return message

    def _call(self, call: Call) -> Json:
        args = call.args
        if not self.target.official and not _is_object(args):
            # Servers that fill in a template parse the arguments and fail on broken ones.
            args = json.dumps({"INVALID_JSON": args}, ensure_ascii=False)
        function = {"name": within(call.tool, NAME_LIMIT), "arguments": args}
        return {"id": sent(call.id, LONGEST_ID), "type": "function", "function": function}

    def reader(self, request: Request, emit: Emit | None) -> Reader:
        """Return what takes in a streamed reply."""
        return ChatReader(request, emit, self.faults, keep_reasoning=self.target.facts.replay_reasoning)

    def reply(self, body: Json, request: Request) -> Reply:
        """Return the reply that arrived as a whole."""
        keep = self.target.facts.replay_reasoning
        return read_completion(body, request, self.faults, keep_reasoning=keep)

    def usage(self, body: Json) -> Usage | None:
        """Return what a body says was used, if it does."""
        usage = read_usage(*raw_usage(body))
        return usage if usage.reported else None


def _is_user(item: Item) -> bool:
    return isinstance(item, Text) and item.role == "user"


def _belongs(item: Item, *, user: bool) -> bool:
    return _is_user(item) if user else not isinstance(item, Result) and not _is_user(item)


def _is_object(args: str) -> bool:
    try:
        return isinstance(read_json(args), dict)
    except ValueError:
        return False


def _parts(texts: tuple[str, ...], *, marked: bool) -> list[Json]:
    parts: list[Json] = [{"type": "text", "text": text} for text in texts]
    if marked:
        parts[-1]["prompt_cache_breakpoint"] = MARK
    return parts
