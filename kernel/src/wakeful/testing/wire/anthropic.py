"""Anthropic Messages."""

from __future__ import annotations

from typing import Any, ClassVar

from wakeful.testing.wire.canon import Body, Canon, dumps
from wakeful.testing.wire.canonical_anthropic import canon_anthropic, check_anthropic, part_text
from wakeful.testing.wire.compare import divergence
from wakeful.testing.wire.dialect import Dialect, arguments, event, first_user, parsed, split
from wakeful.testing.wire.faults import FaultError
from wakeful.testing.wire.meter import Meter
from wakeful.testing.wire.scenario import View
from wakeful.testing.wire.thoughts import Memory, check_thinking, encrypt, sign

#: Section of a break: what the endpoint calls it.
MISSES = {"model": "model_changed", "tools": "tools_changed", "system": "system_changed"}


class Anthropic(Dialect):
    """One Messages request."""

    api: ClassVar[str] = "anthropic"

    def __init__(self, body: Body, memory: Memory) -> None:
        super().__init__(body, memory)
        self.diagnostics: Body | None = None
        self.message: Body = {}
        self.texts: dict[int, str] = {}

    def check(self) -> None:
        """Refuse what the endpoint refuses."""
        check_anthropic(self.body)
        check_thinking(self.body, self.memory)

    def canon(self) -> Canon:
        """Return the canonical prompt."""
        return canon_anthropic(self.body)

    def first_text(self) -> str:
        """Return the text of the first user message."""
        return first_user(self.body.get("messages") or [])

    def view(self) -> View:
        """Return the request as a scenario sees it; references make deferred tools callable."""
        tools, deferred, native = {}, {}, None
        for tool in self.body.get("tools") or []:
            if str(tool.get("type", "")).startswith("tool_search_tool"):
                native = tool.get("name")
            elif tool.get("defer_loading"):
                deferred[tool["name"]] = tool.get("input_schema", {})
            elif tool.get("name"):
                tools[tool["name"]] = tool.get("input_schema", {})
        for message in self.body.get("messages") or []:
            found = [name for name in _references(message.get("content")) if name in deferred]
            tools |= {name: deferred[name] for name in found}
        last = self.body["messages"][-1]
        role, text = last.get("role", ""), last.get("content")
        if isinstance(text, list):
            if any(part.get("type") == "tool_result" for part in text):
                role = "tool"
            text = "\n".join(part_text(part, {}) for part in text)
        return View(self.api, role, text or "", tools, deferred, native)

    def diagnose(self, previous: Canon | None, now: Canon) -> None:
        """Say why the cache was missed, if the request asks."""
        if "diagnostics" not in self.body:
            return
        wanted = (self.body["diagnostics"] or {}).get("previous_message_id")
        if wanted and previous is None:
            self.diagnostics = {"cache_miss_reason": {"type": "previous_message_not_found"}}
        cut = divergence(previous, now) if previous else None
        if cut and not cut["tail"]:
            kind = MISSES.get(cut["section"].split("/")[0], "messages_changed")
            reason = {"type": kind, "cache_missed_input_tokens": cut["lost_tokens"]}
            self.diagnostics = {"cache_miss_reason": reason}

    def remember(self, meter: Meter, canon: Canon) -> None:
        """Keep the prompt for a request that names this message."""
        meter.by_message[self.message["id"]] = canon

    def build(self) -> None:
        """Make the message."""
        content = self._content()
        bill, reply = self.bill, self.reply
        usage = self.usage_of(
            {
                "input_tokens": bill.uncached,
                "cache_creation_input_tokens": bill.write,
                "cache_read_input_tokens": bill.read,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": bill.write_5m,
                    "ephemeral_1h_input_tokens": bill.write_1h,
                },
                "output_tokens": self.output_tokens,
                "service_tier": "standard",
            }
        )
        usual = "refusal" if reply.refusal else "tool_use" if reply.calls else "end_turn"
        self.message = {
            "id": self.mint("msg_"),
            "type": "message",
            "role": "assistant",
            "model": self.body.get("model"),
            "content": content,
            "stop_reason": reply.stop or usual,
            "stop_sequence": None,
            "usage": usage,
        }
        if reply.refusal:
            details: Body = {"type": "refusal", "category": None, "explanation": reply.refusal}
            self.message["stop_details"] = details
        if usage is None:
            del self.message["usage"]
        if self.diagnostics:
            self.message["diagnostics"] = self.diagnostics

    def _content(self) -> list[Body]:
        reply = self.reply
        content: list[Body] = []
        if reply.thinking:
            signature = sign(reply.thinking, self.mint("sig"))
            content.append({"type": "thinking", "thinking": reply.thinking, "signature": signature})
        if reply.redacted:
            content.append({"type": "redacted_thinking", "data": encrypt(reply.redacted, self.mint("enc"))})
        if reply.text:
            content.append({"type": "text", "text": reply.text, "citations": None})
        if reply.native_search:
            content += self._search(reply.native_search, reply.native_name)
        content += [self._server_call(call["tool"], call.get("args", {})) for call in reply.server]
        thoughtful = bool(reply.thinking or reply.redacted)
        for call in reply.sent:
            part = {
                "type": "tool_use",
                "id": self.mint("toolu_"),
                "name": call["tool"],
                "input": parsed(call),
            }
            self.texts[len(content)] = arguments(call)
            if thoughtful:
                self.memory.thought.add(part["id"])
            content.append(part)
        return content

    def _server_call(self, name: str, args: Body) -> Body:
        own = self.mint("srvtoolu_")
        return {
            "type": "server_tool_use",
            "id": own,
            "name": name,
            "input": args,
            "caller": {"type": "direct"},
        }

    def _search(self, found: list[str], name: str) -> list[Body]:
        """The provider's own search, its call and its answer."""
        args = {"pattern": "|".join(found)} if "regex" in name else {"query": " ".join(found)}
        call = self._server_call(name, args)
        references = [{"type": "tool_reference", "tool_name": tool} for tool in found]
        answer = {"type": "tool_search_tool_search_result", "tool_references": references}
        return [call, {"type": "tool_search_tool_result", "tool_use_id": call["id"], "content": answer}]

    def whole(self) -> Body:
        """Return the message."""
        return self.message

    def frames(self) -> list[bytes]:
        """Return the message as events."""
        usage, stop = self.message.get("usage"), self.message["stop_reason"]
        empty: Body = {**self.message, "content": [], "stop_reason": None}
        empty.pop("stop_details", None)
        if usage:
            empty["usage"] = {**usage, "output_tokens": 1}
        out = [_event("message_start", message=empty), _event("ping")]
        for i, part in enumerate(self.message["content"]):
            start, deltas = _streamed(part, self.texts.get(i))
            out.append(_event("content_block_start", index=i, content_block=start))
            out += [_event("content_block_delta", index=i, delta=delta) for delta in deltas]
            out.append(_event("content_block_stop", index=i))
        delta: Body = {"stop_reason": stop, "stop_sequence": None}
        if "stop_details" in self.message:
            delta["stop_details"] = self.message["stop_details"]
        hidden = ("service_tier", "cache_creation")
        counted = {"usage": {k: v for k, v in usage.items() if k not in hidden}} if usage else {}
        return [*out, _event("message_delta", delta=delta, **counted), _event("message_stop")]

    def trouble(self, kind: str, sent: int) -> bytes:
        """Return an event that is broken, or an error."""
        del sent
        if kind == "bad_json":
            return b'event: content_block_delta\ndata: {"type": "content_block_del\n\n'
        error = {"type": "overloaded_error", "message": "Overloaded"}
        return event("error", {"type": "error", "error": error})

    @staticmethod
    def fault(error: FaultError) -> Body:
        """Return the body of an error."""
        about = {"type": error.kind, "message": error.message}
        return {"type": "error", "error": about, "request_id": "req_wire"}


def _event(kind: str, **data: Any) -> bytes:
    return event(kind, {"type": kind, **data})


def _streamed(part: Body, text: str | None) -> tuple[Body, list[Body]]:
    """Return how a block starts and what is added to it.

    Args:
        part: the block.
        text: a call's arguments as they are sent, complete or not.
    """
    if part["type"] == "text":
        deltas = [{"type": "text_delta", "text": piece} for piece in split(part["text"])]
        return {"type": "text", "text": "", "citations": None}, deltas
    if part["type"] == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in split(part["thinking"])]
        deltas.append({"type": "signature_delta", "signature": part["signature"]})
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    if part["type"] in {"tool_use", "server_tool_use"}:
        sent = dumps(part["input"]) if text is None else text
        pieces = ["", *split(sent)]
        return {**part, "input": {}}, [{"type": "input_json_delta", "partial_json": p} for p in pieces]
    return part, []


def _references(content: Any) -> list[str]:
    found = []
    for part in content if isinstance(content, list) else []:
        inner = part.get("content")
        if isinstance(inner, dict):
            inner = inner.get("tool_references")
            found += [str(each.get("tool_name")) for each in inner or []]
        elif isinstance(inner, list):
            found += [str(each.get("tool_name")) for each in inner if each.get("type") == "tool_reference"]
    return found
