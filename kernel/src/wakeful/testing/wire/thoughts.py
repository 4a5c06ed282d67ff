"""Reasoning that has to come back unchanged: signed, encrypted, and missed when it is left out.

Signatures say themselves what they sign, so that a server can check the thoughts of another one.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode

from attrs import define, field

from wakeful.testing.wire.canon import BadRequestError, Body
from wakeful.testing.wire.canonical_anthropic import THOUGHTS, parts_of
from wakeful.testing.wire.faults import FaultError

#: Hexadecimal characters of a digest in a signature.
DIGEST = 16
#: Kinds of ``thinking`` under which a tool loop must keep its thoughts.
THINKING = ("enabled", "adaptive")


@define
class Memory:
    """What a server remembers of its replies.

    Args:
        responses: input and output items by the id of the response, where it was stored.
        thought: ids of Anthropic tool calls that had thoughts before them.
        reasons: ids of OpenAI output items with the id of the reasoning that they need.
        stored: ids of reasoning items that were stored and need not bring their content.
    """

    responses: dict[str, list[Body]] = field(factory=dict)
    thought: set[str] = field(factory=set)
    reasons: dict[str, str] = field(factory=dict)
    stored: set[str] = field(factory=set)

    def clear(self) -> None:
        """Forget everything."""
        for part in (self.responses, self.thought, self.reasons, self.stored):
            part.clear()


def sign(text: str, salt: str) -> str:
    """Return a signature of a thought."""
    return f"{salt}.{_digest(salt + text)}"


def encrypt(text: str, salt: str) -> str:
    """Return a thought that only the provider can read."""
    hidden = f"{salt}.{urlsafe_b64encode(text.encode('utf-8', 'surrogatepass')).decode()}"
    return f"{hidden}.{_digest(hidden)}"


def is_signed(text: str, signature: str) -> bool:
    """Return whether a signature belongs to a thought."""
    salt = signature.rpartition(".")[0]
    return bool(salt) and signature == sign(text, salt)


def is_encrypted(data: str) -> bool:
    """Return whether an encrypted thought came back unchanged."""
    hidden, _, digest = data.rpartition(".")
    return bool(hidden) and digest == _digest(hidden)


def check_thinking(body: Body, memory: Memory) -> None:
    """Refuse thoughts that were changed, and a tool loop that has lost its own.

    Raises:
        BadRequestError: says where, in the endpoint's words.
    """
    messages = body["messages"]
    for i, message in enumerate(messages):
        for j, part in enumerate(parts_of(message)):
            where = f"messages.{i}.content.{j}"
            if part.get("type") == "thinking" and not is_signed(
                part.get("thinking", ""), part.get("signature", "")
            ):
                raise BadRequestError(f"{where}: Invalid `signature` in `thinking` block")
            if part.get("type") == "redacted_thinking" and not is_encrypted(part.get("data", "")):
                raise BadRequestError(f"{where}: Invalid `data` in `redacted_thinking` block")
    if (body.get("thinking") or {}).get("type") not in THINKING:
        return
    last = next((i for i in reversed(range(len(messages))) if messages[i].get("role") == "assistant"), -1)
    parts = parts_of(messages[last]) if last >= 0 else []
    first = parts[0].get("type") if parts else ""
    if first not in THOUGHTS and any(part.get("id") in memory.thought for part in parts):
        raise BadRequestError(
            f"messages.{last}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{first}`. When `thinking` is enabled, a final `assistant` message must start with a thinking "
            "block"
        )


def check_reasoning(items: list[Body], memory: Memory) -> None:
    """Refuse reasoning that was changed or stands alone, and items that have lost theirs.

    Raises:
        BadRequestError: says which, in the endpoint's words.
        FaultError: reasoning that was not stored came without its content.
    """
    seen: set[str] = set()
    for i, item in enumerate(items):
        own, kind = str(item.get("id", "")), item.get("type") or "message"
        if kind == "reasoning":
            _check_reasoning_item(item, own, memory)
            seen.add(own)
            after = items[i + 1] if i + 1 < len(items) else {"role": "user"}
            if after.get("role") in {"user", "system", "developer"}:
                raise BadRequestError(
                    f"Item '{own}' of type 'reasoning' was provided without its required following item."
                )
        needed = memory.reasons.get(own)
        if needed and needed not in seen:
            raise BadRequestError(
                f"Item '{own}' of type '{kind}' was provided without its required 'reasoning' item: "
                f"'{needed}'."
            )


def _check_reasoning_item(item: Body, own: str, memory: Memory) -> None:
    content = item.get("encrypted_content")
    if content and not is_encrypted(content):
        raise FaultError(
            400,
            f"The encrypted content for item {own} could not be verified.",
            "invalid_request_error",
            "invalid_encrypted_content",
        )
    if not content and own not in memory.stored:
        raise FaultError(
            404,
            f"Item with id '{own}' not found. Items are not persisted when `store` is set to false.",
            "invalid_request_error",
        )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]
