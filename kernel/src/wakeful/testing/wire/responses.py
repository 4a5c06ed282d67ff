"""OpenAI Responses."""

from __future__ import annotations

from typing import Any, ClassVar

from wakeful.testing.wire.canon import Body, Canon, dumps
from wakeful.testing.wire.canonical_openai import canon_responses, check_responses, content_text
from wakeful.testing.wire.chat import OpenAI
from wakeful.testing.wire.dialect import CREATED, arguments, first_user, is_cut
from wakeful.testing.wire.faults import FaultError
from wakeful.testing.wire.responses_events import item_events
from wakeful.testing.wire.scenario import View
from wakeful.testing.wire.thoughts import Memory, check_reasoning, encrypt

#: Why a response is incomplete, by the scripted stop.
INCOMPLETE = {
    "max_tokens": "max_output_tokens",
    "length": "max_output_tokens",
    "refusal": "content_filter",
    "content_filter": "content_filter",
}
#: What a request includes to get reasoning that it can replay without storing it.
ENCRYPTED = "reasoning.encrypted_content"


class Responses(OpenAI):
    """One Responses request."""

    api: ClassVar[str] = "openai-responses"

    def __init__(self, body: Body, memory: Memory) -> None:
        super().__init__(body, memory)
        items = body.get("input") or []
        if isinstance(items, str):
            items = [{"type": "message", "role": "user", "content": items}]
        before = body.get("previous_response_id")
        if before and before not in memory.responses:
            raise FaultError(400, f"Previous response with id '{before}' not found.")
        self.items: list[Body] = [*memory.responses[before], *items] if before else items
        self.deferred: Body = {}
        self.response: Body = {}

    def check(self) -> None:
        """Refuse what the endpoint refuses."""
        check_responses(self.items)
        check_reasoning(self.items, self.memory)

    def canon(self) -> Canon:
        """Return the canonical prompt."""
        return canon_responses(self.body, self.items)

    def first_text(self) -> str:
        """Return the text of the first user message."""
        return first_user(self.items)

    def view(self) -> View:
        """Return the request as a scenario sees it."""
        tools: Body = {}
        native = None
        for tool in self.body.get("tools") or []:
            if tool.get("type") == "function":
                (self.deferred if tool.get("defer_loading") else tools)[tool["name"]] = tool.get(
                    "parameters", {}
                )
            elif tool.get("type") == "tool_search":
                native = "tool_search"
        for item in self.items:
            if item.get("type") == "tool_search_output":
                found = [tool for tool in item.get("tools") or [] if tool.get("name")]
                tools |= {tool["name"]: tool.get("parameters", {}) for tool in found}
        last = self.items[-1] if self.items else {}
        kind = last.get("type") or "message"
        role = "tool" if kind == "function_call_output" else str(last.get("role", kind))
        text = content_text(last.get("output") or last.get("content"))
        return View(self.api, role, text, tools, self.deferred, native)

    def build(self) -> None:
        """Make the response."""
        output = self._output()
        why = INCOMPLETE.get(self.reply.stop or "")
        asked = self.body.get
        self.response = {
            "id": self.mint("resp_"),
            "object": "response",
            "created_at": CREATED,
            "status": "incomplete" if why else "completed",
            "error": None,
            "incomplete_details": {"reason": why} if why else None,
            "instructions": asked("instructions"),
            "metadata": asked("metadata") or {},
            "model": asked("model"),
            "output": output,
            "parallel_tool_calls": self.body.get("parallel_tool_calls") is not False,
            "temperature": 1.0,
            "top_p": 1.0,
            "tool_choice": asked("tool_choice", "auto"),
            "tools": [],
            "previous_response_id": asked("previous_response_id"),
            "reasoning": {"effort": None, "summary": None},
            "store": self._stores(),
            "text": {"format": {"type": "text"}},
            "truncation": "disabled",
            "usage": self._usage(),
        }
        if self._stores():
            self.memory.responses[self.response["id"]] = self.items + output

    def _stores(self) -> bool:
        return self.body.get("store") is not False

    def _usage(self) -> Body | None:
        bill = self.bill
        return self.usage_of(
            {
                "input_tokens": bill.total,
                "output_tokens": self.output_tokens,
                "total_tokens": bill.total + self.output_tokens,
                "input_tokens_details": {"cached_tokens": bill.read, "cache_write_tokens": bill.write_other},
                "output_tokens_details": {"reasoning_tokens": self.thinking_tokens},
            }
        )

    def _output(self) -> list[Body]:
        reply = self.reply
        output = self._reasoning(reply.thinking) if reply.thinking else []
        reason = output[0]["id"] if output else ""
        if reply.text or reply.refusal or not reply.calls:
            output.append(self._message(reply.text, reply.refusal))
        if reply.native_search:
            output += self._search(reply.native_search)
        output += [self._call(call) for call in reply.sent]
        if reason:
            self.memory.reasons |= {item["id"]: reason for item in output[1:]}
        return output

    def _reasoning(self, text: str) -> list[Body]:
        summary = [{"type": "summary_text", "text": text}]
        item: Body = {"id": self.mint("rs_"), "type": "reasoning", "summary": summary}
        if ENCRYPTED in (self.body.get("include") or []):
            item["encrypted_content"] = encrypt(text, self.mint("enc"))
        if self._stores():
            self.memory.stored.add(item["id"])
        return [item]

    def _message(self, text: str, refusal: str) -> Body:
        parts: list[Body] = []
        if text or not refusal:
            parts.append({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
        if refusal:
            parts.append({"type": "refusal", "refusal": refusal})
        return {
            "id": self.mint("msg_"),
            "type": "message",
            "role": "assistant",
            "status": "incomplete" if self.reply.stop in INCOMPLETE and not self.reply.calls else "completed",
            "content": parts,
        }

    def _search(self, found: list[str]) -> list[Body]:
        """The provider's own search, its call and its answer."""
        tools = [tool for tool in self.body["tools"] if tool.get("name") in found]
        about = {"call_id": None, "execution": "server", "status": "completed"}
        return [
            {"id": self.mint("tsc_"), "type": "tool_search_call", **about, "arguments": {"paths": found}},
            {"id": self.mint("tso_"), "type": "tool_search_output", **about, "tools": tools},
        ]

    def _call(self, call: Body) -> Body:
        item = {
            "id": self.mint("fc_"),
            "type": "function_call",
            "call_id": self.mint("call_"),
            "name": call["tool"],
            "arguments": arguments(call),
            "status": "incomplete" if is_cut(call) else "completed",
        }
        if call["tool"] in self.deferred:
            item["namespace"] = call["tool"]  # how a deferred top-level function is addressed
        return item

    def whole(self) -> Body:
        """Return the response."""
        return self.response

    def frames(self) -> list[bytes]:
        """Return the response as events."""
        empty = {**self.response, "status": "in_progress", "output": [], "usage": None}
        empty["incomplete_details"] = None
        events: list[tuple[str, Body]] = [
            ("response.created", {"response": empty}),
            ("response.in_progress", {"response": empty}),
        ]
        for i, item in enumerate(self.response["output"]):
            events += item_events(i, item)
        incomplete = self.response["status"] == "incomplete"
        last = "response.incomplete" if incomplete else "response.completed"
        events.append((last, {"response": self.response}))
        return [_event(n, kind, data) for n, (kind, data) in enumerate(events)]

    def trouble(self, kind: str, sent: int) -> bytes:
        """Return an event that is broken, an error, or a response that failed."""
        if kind != "failed":
            return super().trouble(kind, sent)
        error = {"code": "server_error", "message": "The model failed to generate a response."}
        failed = {**self.response, "status": "failed", "error": error, "output": [], "usage": None}
        return _event(sent, "response.failed", {"response": failed})


def _event(number: int, kind: str, data: Any) -> bytes:
    return f"event: {kind}\ndata: {dumps({'type': kind, 'sequence_number': number, **data})}\n\n".encode()
