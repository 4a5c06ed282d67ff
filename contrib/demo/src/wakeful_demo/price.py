"""What the prompts of the demonstration would cost with a provider's cache, and laid out in other ways."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen
from sqlalchemy import select

from wakeful.store.tables import model_call, run

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: What Anthropic publishes for reading from the cache and for writing to it, in tokens paid in full.
READ, WRITE = 0.1, 1.25
#: Characters of a token where nobody counted: the usual rule of thumb for English.
CHARACTERS = 4
PARTS = ("tools", "system", "history", "state")


@frozen
class Prices:
    """The same requests at three prices, in tokens paid in full.

    Args:
        requests: how many there were.
        hit: share of the input that was sent before and can be read.
        cached: as they were laid out.
        plain: without a cache.
        in_system: with the state in the system prompt, which changes it for every request.
    """

    requests: int
    hit: float
    cached: float
    plain: float
    in_system: float

    @property
    def line(self) -> str:
        """The prices in a sentence."""
        return (
            f"Prompt cache: {self.requests} requests, hit ratio {self.hit:.2f}; their input costs "
            f"{self.cached:,.0f} tokens, {self.cached / self.plain:.2f} of the price without a cache "
            f"({self.plain:,.0f}) and {self.cached / self.in_system:.2f} of the price with the state in the "
            f"system prompt ({self.in_system:,.0f})."
        )


def read_prompts(conn: Connection, conversation: str) -> list[Mapping[str, Any]]:
    """Return what is recorded of the requests of a conversation, in order."""
    query = (
        select(model_call.c.prompt)
        .join(run, run.c.id == model_call.c.run_id)
        .where(run.c.conversation_id == conversation, model_call.c.kind == "step", model_call.c.error == "")
        .order_by(model_call.c.id)
    )
    return [json.loads(prompt) for prompt in conn.execute(query).scalars()]


def prices(prompts: Sequence[Mapping[str, Any]]) -> Prices | None:
    """Return the prices of requests; None if there are none.

    Args:
        prompts: what is recorded of each.
    """
    if not prompts:
        return None
    cached = plain = in_system = read = 0.0
    stays = 0.0
    for place, prompt in enumerate(prompts):
        sizes = {part: prompt["characters"][part] / CHARACTERS for part in PARTS}
        total = sum(sizes.values())
        known = 0.0 if prompt.get("change") else min(stays, total)
        read += known
        cached += READ * known + WRITE * (total - known)
        plain += total
        tools = sizes["tools"] if place else 0.0
        in_system += READ * tools + WRITE * (total - tools)
        stays = total - (0.0 if prompt["kept"] else sizes["state"])
    return Prices(len(prompts), read / plain, cached, plain, in_system)
