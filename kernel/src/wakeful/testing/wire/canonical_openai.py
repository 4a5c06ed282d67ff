"""The canonical prompts of OpenAI's two wire formats, and what the endpoints refuse."""

from __future__ import annotations

from typing import Any

from wakeful.testing.wire.canon import (
    MESSAGES,
    SYSTEM,
    TOOLS,
    BadRequestError,
    Block,
    Body,
    Canon,
    bare,
    dumps,
)

#: Roles that, in front of everything else, count as system.
LEADING = ("system", "developer")
#: Content parts whose text is the block's text.
TEXTS = ("text", "input_text", "output_text", "refusal")
#: Who speaks in items of the Responses API that have no role.
ROLES = {"function_call_output": "tool", "tool_search_output": "tool"}


def canon_chat(body: Body) -> Canon:
    """Return the canonical prompt of a Chat Completions request."""
    blocks = _head(body)
    leading = True
    for i, message in enumerate(body.get("messages") or []):
        role = message.get("role", "?")
        leading = leading and role in LEADING
        text = f"<{role}>"
        if message.get("tool_call_id"):
            text += f"{message['tool_call_id']} "
        text += content_text(message.get("content"))
        for call in message.get("tool_calls") or []:
            function = call.get("function") or {}
            text += f"\ncall {call.get('id')} {function.get('name')} {function.get('arguments')}"
        blocks.append(
            Block(
                SYSTEM if leading else MESSAGES,
                f"messages[{i}]",
                text,
                role,
                i,
                cache_ttl=_mark(message.get("content")),
                cacheable=role != "assistant",
            )
        )
    return _wrap("openai-chat", body, blocks)


def canon_responses(body: Body, items: list[Body]) -> Canon:
    """Return the canonical prompt of a Responses request.

    Args:
        body: the request.
        items: its input, with that of the response it continues.
    """
    blocks = _head(body)
    if body.get("instructions"):
        blocks.append(Block(SYSTEM, "instructions", body["instructions"], "system"))
    leading = True
    for i, item in enumerate(items):
        kind = item.get("type") or "message"
        role = item.get("role") or ROLES.get(kind, "assistant")
        leading = leading and role in LEADING
        text, mark = _item(item, kind, role)
        section, label = SYSTEM if leading else MESSAGES, f"{role}/{kind}"
        blocks.append(
            Block(section, f"input[{i}]", text, label, i, cache_ttl=mark, cacheable=role != "assistant")
        )
    return _wrap("openai-responses", body, blocks)


def content_text(content: Any) -> str:
    """Return the canonical text of a message's content."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    out = []
    for part in content:
        if isinstance(part, str):
            out.append(part)
        elif part.get("type") in TEXTS:
            out.append(part.get("text") or part.get("refusal") or "")
        else:
            out.append(dumps(bare(part, "prompt_cache_breakpoint")))
    return "\n".join(out)


def _item(item: Body, kind: str, role: str) -> tuple[str, str | None]:
    if kind == "message":
        return f"<{role}>{content_text(item.get('content'))}", _mark(item.get("content"))
    if kind == "function_call":
        return f"call {item.get('call_id')} {item.get('name')} {item.get('arguments')}", None
    if kind == "function_call_output":
        return f"<tool>{item.get('call_id')} {content_text(item.get('output'))}", _mark(item.get("output"))
    return dumps(bare(item, "id", "status")), None


def _mark(content: Any) -> str | None:
    parts = content if isinstance(content, list) else []
    marked = any(isinstance(part, dict) and part.get("prompt_cache_breakpoint") for part in parts)
    return "explicit" if marked else None


def _head(body: Body) -> list[Block]:
    """Tools that are not deferred, then a response format, which counts as system."""
    blocks = []
    for i, tool in enumerate(body.get("tools") or []):
        function = tool.get("function") or {}
        if not (tool.get("defer_loading") or function.get("defer_loading")):
            name = tool.get("name") or function.get("name") or tool.get("type", "?")
            blocks.append(Block(TOOLS, f"tools[{i}]:{name}", dumps(tool), name))
    wanted = body.get("response_format") or (body.get("text") or {}).get("format")
    if wanted and wanted.get("type") not in {None, "text"}:
        blocks.append(Block(SYSTEM, "response_format", dumps(wanted), "response_format"))
    return blocks


def _wrap(api: str, body: Body, blocks: list[Block]) -> Canon:
    options = body.get("prompt_cache_options") or {}
    return Canon(
        api,
        body.get("model", "?"),
        blocks,
        openai_mode=options.get("mode") or "implicit",
        openai_ttl=options.get("ttl") or "30m",
        cache_key=body.get("prompt_cache_key") or "",
    )


def check_chat(body: Body) -> None:
    """Refuse calls without results and results without calls in a Chat Completions request.

    Raises:
        BadRequestError: says what, in the endpoint's words.
    """
    if not body.get("messages"):
        raise BadRequestError("'messages' must contain at least one message")
    waiting: set[str] = set()
    for i, message in enumerate(body["messages"]):
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in waiting:
                raise BadRequestError(
                    f"messages.[{i}].role: messages with role 'tool' must be a response to a preceding "
                    "message with 'tool_calls'."
                )
            waiting.discard(message["tool_call_id"])
            continue
        if waiting:
            break
        waiting = {call.get("id") for call in message.get("tool_calls") or []}
    if waiting:
        raise BadRequestError(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. Missing: {', '.join(sorted(map(str, waiting)))}"
        )


def check_responses(items: list[Body]) -> None:
    """Refuse calls without results and results without calls in the items of a Responses request.

    Raises:
        BadRequestError: says what, in the endpoint's words.
    """
    calls = {item.get("call_id") for item in items if item.get("type") == "function_call"}
    done = {item.get("call_id") for item in items if item.get("type") == "function_call_output"}
    if calls - done:
        missing = ", ".join(sorted(map(str, calls - done)))
        raise BadRequestError(f"No tool output found for function call {missing}.")
    if done - calls:
        orphans = ", ".join(sorted(map(str, done - calls)))
        raise BadRequestError(f"No tool call found for function call output with call_id {orphans}.")
