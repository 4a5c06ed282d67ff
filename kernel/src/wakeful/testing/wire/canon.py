"""The canonical prompt: the ordered blocks that a provider's prompt cache would see.

The order is the one the providers publish: tools, then system or instructions, then messages. A block's
text is both what is compared and what is counted, so the order of keys in a tool's schema or in a call
matters here as it does to a byte-exact prefix cache. Cache marks are left out of it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from attrs import define, field

from wakeful.testing.wire.tokens import Counts

TOOLS, SYSTEM, PARAMS, MESSAGES = "tools", "system", "params", "messages"
#: Between two blocks in the chain of hashes; no JSON text holds it unescaped.
BETWEEN = b"\x1e"

#: A JSON object, as requests and scenarios are made of them.
Body = dict[str, Any]


class BadRequestError(Exception):
    """The provider would answer 400."""


@define
class Block:
    """One piece of the canonical prompt.

    Args:
        section: ``tools``, ``system``, ``params`` or ``messages``.
        path: where it stands in the request, e.g. ``messages[2].content[0]``.
        text: what is compared and counted.
        label: the tool's name, or the role and kind.
        message: index of the message that it belongs to; -1 before the messages.
        cache_ttl: an explicit breakpoint at its end: ``5m``, ``1h`` or, on OpenAI, ``explicit``.
        cacheable: whether a breakpoint may stand here.
        tokens: set by :meth:`Canon.seal`.
        chain: hash of everything up to and including this block, set by :meth:`Canon.seal`.
    """

    section: str
    path: str
    text: str
    label: str = ""
    message: int = -1
    cache_ttl: str | None = None
    cacheable: bool = True
    tokens: int = 0
    chain: bytes = b""


@define
class Canon:
    """The canonical prompt of one request.

    Args:
        api: ``anthropic``, ``openai-chat`` or ``openai-responses``.
        model: the model asked for.
        blocks: in order.
        auto_ttl: TTL of Anthropic's top-level ``cache_control``, if there is one.
        openai_mode: ``implicit`` or ``explicit``.
        openai_ttl: ``30m`` or ``12h``.
        cache_key: OpenAI's ``prompt_cache_key``.
        total: tokens, set by :meth:`seal`.
        ends: tokens up to the end of each block, set by :meth:`seal`.
    """

    api: str
    model: str
    blocks: list[Block]
    auto_ttl: str | None = None
    openai_mode: str = "implicit"
    openai_ttl: str = "30m"
    cache_key: str = ""
    total: int = 0
    ends: list[int] = field(factory=list)

    def seal(self, tokenizer: Counts) -> Canon:
        """Count the tokens, chain the hashes and return the prompt itself."""
        chain = hashlib.blake2b(self.model.encode(), digest_size=16).digest()
        self.total, self.ends = 0, []
        for block in self.blocks:
            block.tokens = 0 if block.section == PARAMS else tokenizer.count(block.text)
            self.total += block.tokens
            raw = block.text.encode("utf-8", "surrogatepass")
            chain = hashlib.blake2b(chain + raw + BETWEEN, digest_size=16).digest()
            block.chain = chain
            self.ends.append(self.total)
        return self


def dumps(value: Any) -> str:
    """Return JSON as the providers send it: compact, keys in the order given."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def bare(value: Any, *drop: str) -> Any:
    """Return an object without some keys; anything else as it is."""
    return {k: v for k, v in value.items() if k not in drop} if isinstance(value, dict) else value
