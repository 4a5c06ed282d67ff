"""OpenAI Chat Completions, and the errors of both of OpenAI's wire formats."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from wakeful.testing.wire.canon import Body, Canon, dumps
from wakeful.testing.wire.canonical_openai import canon_chat, check_chat, content_text
from wakeful.testing.wire.dialect import CREATED, Dialect, arguments, first_user, split
from wakeful.testing.wire.faults import FaultError
from wakeful.testing.wire.scenario import View

#: Anthropic's words for why a reply ends, in OpenAI's. Others are sent as they are.
STOPS = {"end_turn": "stop", "max_tokens": "length", "refusal": "content_filter", "tool_use": "tool_calls"}


class OpenAI(Dialect, ABC):
    """What OpenAI's two formats have in common."""

    def trouble(self, kind: str, sent: int) -> bytes:
        """Return an event that is broken, or an error."""
        del sent
        if kind == "bad_json":
            return b'data: {"id": "x", "choices": [\n\n'
        error = {"message": "The server had an error", "type": "server_error", "param": None, "code": None}
        return f"data: {dumps({'error': error})}\n\n".encode()

    @staticmethod
    def fault(error: FaultError) -> Body:
        """Return the body of an error."""
        about = {"message": error.message, "type": error.kind, "param": error.param, "code": error.code}
        return {"error": about}


class Chat(OpenAI):
    """One Chat Completions request."""

    api: ClassVar[str] = "openai-chat"

    def check(self) -> None:
        """Refuse what the endpoint refuses."""
        check_chat(self.body)

    def canon(self) -> Canon:
        """Return the canonical prompt."""
        return canon_chat(self.body)

    def first_text(self) -> str:
        """Return the text of the first user message."""
        return first_user(self.body.get("messages") or [])

    def view(self) -> View:
        """Return the request as a scenario sees it."""
        functions = [
            tool["function"] for tool in self.body.get("tools") or [] if tool.get("type") == "function"
        ]
        tools = {function["name"]: function.get("parameters", {}) for function in functions}
        last = self.body["messages"][-1]
        return View(self.api, last.get("role", ""), content_text(last.get("content")), tools, {}, None)

    def build(self) -> None:
        """Make the completion."""
        reply, bill = self.reply, self.bill
        self.calls: list[Body] = []
        for call in reply.sent:
            function = {"name": call["tool"], "arguments": arguments(call)}
            self.calls.append({"id": self.mint("call_"), "type": "function", "function": function})
        usual = "tool_calls" if self.calls else "stop"
        self.stop = STOPS.get(reply.stop, reply.stop) if reply.stop else usual
        self.usage = self.usage_of(
            {
                "prompt_tokens": bill.total,
                "completion_tokens": self.output_tokens,
                "total_tokens": bill.total + self.output_tokens,
                "prompt_tokens_details": {
                    "cached_tokens": bill.read,
                    "audio_tokens": 0,
                    "cache_write_tokens": bill.write_other,
                },
                "completion_tokens_details": {
                    "reasoning_tokens": self.thinking_tokens,
                    "audio_tokens": 0,
                    "accepted_prediction_tokens": 0,
                    "rejected_prediction_tokens": 0,
                },
            }
        )
        self.base = {
            "id": self.mint("chatcmpl-"),
            "created": CREATED,
            "model": self.body.get("model"),
            "system_fingerprint": "fp_wire",
            "service_tier": "default",
        }

    def whole(self) -> Body:
        """Return the completion."""
        reply = self.reply
        message: Body = {
            "role": "assistant",
            "content": reply.text or None,
            "refusal": reply.refusal or None,
            "annotations": [],
        }
        if reply.reasoning_field and reply.thinking:
            message[reply.reasoning_field] = reply.thinking
        if self.calls:
            message["tool_calls"] = self.calls
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.stop}
        whole = {**self.base, "object": "chat.completion", "usage": self.usage, "choices": [choice]}
        if self.usage is None:
            del whole["usage"]
        return whole

    def frames(self) -> list[bytes]:
        """Return the completion as chunks; usage comes last, if the request asks for it."""
        want = bool((self.body.get("stream_options") or {}).get("include_usage")) and self.usage is not None
        # An absent usage is null in every chunk but the last of those that asked for it.
        extra: Body = {"usage": None} if want else {}
        out = [self._chunk(delta, None, extra) for delta in self._deltas()]
        out.append(self._chunk({}, self.stop, extra))
        if want:
            out.append(self._chunk(None, None, {"usage": self.usage}))
        return [*out, b"data: [DONE]\n\n"]

    def _deltas(self) -> list[Body]:
        reply = self.reply
        out: list[Body] = [{"role": "assistant", "content": "" if reply.text else None, "refusal": None}]
        if reply.reasoning_field and reply.thinking:
            out += [{reply.reasoning_field: piece} for piece in split(reply.thinking)]
        if reply.text:
            out += [{"content": piece} for piece in split(reply.text)]
        if reply.refusal:
            out += [{"refusal": piece} for piece in split(reply.refusal)]
        for i, call in enumerate(self.calls):
            function = {"name": call["function"]["name"], "arguments": ""}
            head = {"index": i, "id": call["id"], "type": "function", "function": function}
            out.append({"tool_calls": [head]})
            pieces = split(call["function"]["arguments"])
            out += [{"tool_calls": [{"index": i, "function": {"arguments": piece}}]} for piece in pieces]
        return out

    def _chunk(self, delta: Body | None, finish: str | None, extra: Body) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        choices = [] if delta is None else [choice]
        data = {**self.base, "object": "chat.completion.chunk", "choices": choices, **extra}
        return f"data: {dumps(data)}\n\n".encode()
