"""What a provider returned, before the loop believes it."""

from __future__ import annotations

from wakeful.loop.codec import dump_items, load_items
from wakeful.types import Call, Item, Opaque, Reply, Result, Stop, Text, Trust, Usage

_STRINGS: dict[type[Item], tuple[str, ...]] = {
    Text: ("role", "text"),
    Call: ("id", "tool", "args"),
    Result: ("call_id", "text"),
    Opaque: ("provider",),
}


def received(reply: object) -> Reply:
    """Return the reply exactly as the store will give it back, so that a resumed run sends the same bytes.

    Raises:
        TypeError: it is no reply, or holds what a transcript cannot.
        ValueError: a number in it is infinite or none.
    """
    if not isinstance(reply, Reply):
        raise TypeError(f"expected a Reply, got a {type(reply).__name__}")
    if not isinstance(reply.usage, Usage) or not isinstance(reply.stop, Stop):
        raise TypeError("a reply's usage must be a Usage and its stop a Stop")
    if not isinstance(reply.trust, Trust) or not isinstance(reply.source, str):
        raise TypeError("a reply's trust must be a Trust and its source text")
    for item in reply.items:
        for name in _STRINGS.get(type(item), ()):
            if not isinstance(getattr(item, name), str):
                raise TypeError(f"{type(item).__name__}.{name} must be text")
        if type(item) not in _STRINGS or isinstance(item, Result):
            raise TypeError(f"a reply cannot hold a {type(item).__name__}")
    return reply.with_items(load_items(dump_items(reply.items)))
