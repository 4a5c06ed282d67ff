"""Where a prompt stops repeating the one before it."""

from __future__ import annotations

from wakeful.testing.wire.canon import PARAMS, SYSTEM, TOOLS, Block, Body, Canon

#: Bytes of both prompts that are shown before and after the place.
BEFORE, AFTER = 30, 60


def divergence(old: Canon, new: Canon) -> Body | None:
    """Return where ``new`` stops repeating ``old``; None when it repeats all of it and only adds.

    The answer has ``section``, ``path``, ``reason``, ``byte_offset`` into the canonical prompt,
    ``common_tokens``, ``lost_tokens``, an excerpt of both sides, and ``tail``: only the last message of the
    earlier request was replaced, so that nothing before it was disturbed.
    """
    if old.model != new.model:
        return {
            "section": "model",
            "path": "model",
            "reason": "model_changed",
            "byte_offset": 0,
            "common_tokens": 0,
            "lost_tokens": old.total,
            "tail": False,
            "before": old.model,
            "after": new.model,
        }
    offset = 0
    for i, was in enumerate(old.blocks):
        now = new.blocks[i] if i < len(new.blocks) else None
        if now is None or was.text != now.text or was.section != now.section:
            return _cut(old, new, i, offset)
        offset += len(_raw(was)) + 1
    return None


def _raw(block: Block | None) -> bytes:
    return block.text.encode("utf-8", "surrogatepass") if block else b""


def _cut(old: Canon, new: Canon, i: int, offset: int) -> Body:
    was, now = old.blocks[i], new.blocks[i] if i < len(new.blocks) else None
    left, right = _raw(was), _raw(now)
    pairs = enumerate(zip(left, right, strict=False))
    place = next((n for n, (x, y) in pairs if x != y), min(len(left), len(right)))
    common = old.ends[i - 1] if i else 0
    start, end = max(0, place - BEFORE), place + AFTER
    return {
        "section": was.section
        if now is None or was.section == now.section
        else f"{was.section}/{now.section}",
        "path": was.path,
        "path_now": now.path if now else None,
        "reason": _reason(old, new, i),
        "byte_offset": offset + place,
        "common_tokens": common,
        "lost_tokens": old.total - common,
        "tail": was.message >= 0 and was.message == old.blocks[-1].message,
        "before": left[start:end].decode("utf-8", "replace"),
        "after": right[start:end].decode("utf-8", "replace"),
    }


def _reason(old: Canon, new: Canon, i: int) -> str:
    was, now = old.blocks[i], new.blocks[i] if i < len(new.blocks) else None
    sections = {was.section, now.section if now else was.section}
    if TOOLS in sections:
        return _tools(old, new)
    if PARAMS in sections:
        return "params_changed"
    if SYSTEM in sections:
        return "system_changed"
    if now is None:
        return "history_shortened"
    rest = {block.text for block in old.blocks[i:]}
    if now.text in rest:
        return "message_removed"
    if any(block.text == was.text for block in new.blocks[i:]):
        return "message_inserted"
    return "message_rewritten"


def _tools(old: Canon, new: Canon) -> str:
    was = {block.label: block.text for block in old.blocks if block.section == TOOLS}
    now = {block.label: block.text for block in new.blocks if block.section == TOOLS}
    if set(now) - set(was):
        return f"tools_added({len(set(now) - set(was))})"
    if set(was) - set(now):
        return f"tools_removed({len(set(was) - set(now))})"
    changed = [name for name, text in was.items() if now[name] != text]
    return f"tool_changed({changed[0]})" if changed else "tools_reordered"
