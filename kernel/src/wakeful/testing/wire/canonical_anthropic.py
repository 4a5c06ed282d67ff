"""The canonical prompt of an Anthropic Messages request, and what the endpoint refuses."""

from __future__ import annotations

from typing import Any

from wakeful.testing.wire.canon import (
    MESSAGES,
    PARAMS,
    SYSTEM,
    TOOLS,
    BadRequestError,
    Block,
    Body,
    Canon,
    bare,
    dumps,
)

#: Blocks that cannot carry a breakpoint.
THOUGHTS = ("thinking", "redacted_thinking")


def canon_anthropic(body: Body) -> Canon:
    """Return the canonical prompt of a request.

    Raises:
        BadRequestError: a ``cache_control`` is malformed or stands where none may.
    """
    blocks = [*_tools(body), *_system(body), *_params(body), *_messages(body)]
    return Canon("anthropic", body.get("model", "?"), blocks, auto_ttl=_ttl(body.get("cache_control")))


def part_text(part: Body, deferred: Body) -> str:
    """Return the canonical text of a content block.

    Args:
        part: the block.
        deferred: declarations of deferred tools by name; a reference is expanded to its declaration.
    """
    kind = part.get("type", "text")
    if kind == "text":
        return str(part.get("text", ""))
    if kind in {"tool_use", "server_tool_use"}:
        return f"{kind} {part.get('id')} {part.get('name')} {dumps(part.get('input'))}"
    if kind == "tool_result":
        inner = part.get("content")
        if isinstance(inner, list):
            inner = "\n".join(part_text(each, deferred) for each in inner)
        return (
            f"tool_result {part.get('tool_use_id')} {'error ' if part.get('is_error') else ''}{inner or ''}"
        )
    if kind == "tool_reference":
        name = part.get("tool_name")
        return dumps(bare(deferred.get(str(name), part), "cache_control", "defer_loading"))
    if kind == "tool_search_tool_result":
        found = (part.get("content") or {}).get("tool_references") or []
        return f"{kind} {part.get('tool_use_id')} " + "\n".join(part_text(each, deferred) for each in found)
    return dumps(bare(part, "cache_control"))


def parts_of(message: Body) -> list[Body]:
    """Return a message's content as blocks."""
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def _ttl(control: Any) -> str | None:
    if not control:
        return None
    if control.get("type") != "ephemeral":
        raise BadRequestError("cache_control.type must be 'ephemeral'")
    ttl = control.get("ttl") or "5m"
    if ttl not in {"5m", "1h"}:
        raise BadRequestError("cache_control.ttl must be '5m' or '1h'")
    return str(ttl)


def _tools(body: Body) -> list[Block]:
    """Deferred tools are outside the prompt until a reference expands them, where it stands."""
    found = []
    for i, tool in enumerate(body.get("tools") or []):
        if not tool.get("defer_loading"):
            name = tool.get("name") or tool.get("type", "?")
            text = dumps(bare(tool, "cache_control"))
            found.append(
                Block(TOOLS, f"tools[{i}]:{name}", text, name, cache_ttl=_ttl(tool.get("cache_control")))
            )
    return found


def _system(body: Body) -> list[Block]:
    system = body.get("system")
    if isinstance(system, str):
        system = [{"type": "text", "text": system}] if system else []
    found = []
    for i, part in enumerate(system or []):
        text, ttl = part.get("text", ""), _ttl(part.get("cache_control"))
        found.append(Block(SYSTEM, f"system[{i}]", text, "system", cache_ttl=ttl, cacheable=bool(text)))
    return found


def _params(body: Body) -> list[Block]:
    """Changing these spares tools and system, not the messages."""
    params = {name: body[name] for name in ("tool_choice", "thinking") if body.get(name)}
    if params.get("tool_choice") == {"type": "auto"}:
        del params["tool_choice"]
    return [Block(PARAMS, "params", dumps(params), ",".join(params), cacheable=False)] if params else []


def _messages(body: Body) -> list[Block]:
    deferred = {tool.get("name"): tool for tool in body.get("tools") or [] if tool.get("defer_loading")}
    found = []
    for i, message in enumerate(body.get("messages") or []):
        role = message.get("role", "?")
        for j, part in enumerate(parts_of(message)):
            kind = part.get("type", "text")
            head = f"<{role}>" if j == 0 else ""
            ok = kind not in THOUGHTS and not (kind == "text" and not part.get("text"))
            ttl = _ttl(part.get("cache_control"))
            if ttl and not ok:
                raise BadRequestError(f"messages.{i}.content.{j}: cache_control cannot be set on this block")
            text, path = head + part_text(part, deferred), f"messages[{i}].content[{j}]"
            found.append(Block(MESSAGES, path, text, f"{role}/{kind}", i, cache_ttl=ttl, cacheable=ok))
    return found


def check_anthropic(body: Body) -> None:
    """Refuse what the real endpoint refuses, as far as an agent loop can get it wrong.

    Raises:
        BadRequestError: says what, in the endpoint's words.
    """
    if not isinstance(body.get("max_tokens"), int):
        raise BadRequestError("max_tokens: Field required")
    messages = body.get("messages")
    if not messages:
        raise BadRequestError("messages: at least one message is required")
    if messages[0].get("role") != "user":
        raise BadRequestError('messages: first message must use the "user" role')
    _check_tools(body.get("tools") or [])
    _check_pairs(messages)


def _check_tools(tools: list[Body]) -> None:
    names = [tool.get("name") for tool in tools if tool.get("name")]
    if len(names) != len(set(names)):
        raise BadRequestError("tools: Tool names must be unique.")
    deferred = [tool for tool in tools if tool.get("defer_loading")]
    if any(tool.get("cache_control") for tool in deferred):
        raise BadRequestError("tools: a tool with defer_loading cannot carry cache_control")
    if tools and len(deferred) == len(tools):
        raise BadRequestError("tools: at least one tool must not be deferred")


def _check_pairs(messages: list[Body]) -> None:
    """Every call is answered in the message behind it, and nothing else is."""
    open_ids: set[str] = set()
    for i, message in enumerate(messages):
        if message.get("role") == "system":
            continue
        parts = parts_of(message)
        results = {str(part.get("tool_use_id")) for part in parts if part.get("type") == "tool_result"}
        if open_ids - results:
            missing = ", ".join(sorted(open_ids - results))
            raise BadRequestError(
                f"messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{missing}"
            )
        if results - open_ids:
            orphans = ", ".join(sorted(results - open_ids))
            raise BadRequestError(
                f"messages.{i}: unexpected `tool_use_id` found in `tool_result` blocks: {orphans}"
            )
        open_ids = {str(part.get("id")) for part in parts if part.get("type") == "tool_use"}
    if open_ids:
        missing = ", ".join(sorted(open_ids))
        raise BadRequestError(f"messages: `tool_use` ids were found without `tool_result` blocks: {missing}")
