"""What a loop goes over: a list of the call, or what another action returned."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from attrs import frozen

from wakeful.types import (
    ActionContext,
    ActionError,
    ActionResult,
    Json,
    Provenance,
    Services,
    Spooled,
    Trust,
    near,
)
from wakeful_recovery.loops.names import resolved

if TYPE_CHECKING:
    from pathlib import Path


@frozen
class Collection:
    """The items, and where they are from.

    Args:
        items: given one by one; not all of them need be in memory.
        name: in words.
        skipped: inner calls that were needed to get them.
        provenance: what arguments made of the items were made of.
        source: the result they came with, or None.
    """

    items: Iterator[Json]
    name: str
    skipped: int = 0
    provenance: tuple[Provenance, ...] = ()
    source: ActionResult | None = None


async def collection_of(args: Mapping[str, Json], ctx: ActionContext, services: Services) -> Collection:
    """Return what ``for_each`` goes over.

    Raises:
        ActionError: neither or both were given, or the action gave nothing to go over.
    """
    items, name = args.get("items"), args.get("from_action")
    if (items is None) == (name is None):
        what = "expected either 'items' or 'from_action'"
        raise ActionError("NO_COLLECTION", what, retryable=True)
    if name is None:
        return Collection(iter(items or ()), f"items ({len(items or ()):,})")
    action = resolved(name, services.catalogue(ctx.run))
    result = await ctx.call(action, args.get("from_args") or {}, inner=0, provenance=())
    if not result.success:
        return Collection(iter(()), action, 1, source=result)
    output, value = _output(result, args.get("from_output") or "", action)
    trust = result.trust or Trust.TRUSTED
    provenance = (Provenance("", f"{action}.{output}", trust, result.source),) if trust else ()
    if isinstance(value, Spooled):
        path, many = services.files.path(value.ref), value.rows or 0
        return Collection(_lines(path), f"{action}.{output} ({many:,})", 1, provenance, result)
    return Collection(iter(value), f"{action}.{output} ({len(value):,})", 1, provenance, result)


def _output(result: ActionResult, wanted: str, action: str) -> tuple[str, Json]:
    lists = {
        name: value
        for name, value in result.outputs.items()
        if isinstance(value, list) or (isinstance(value, Spooled) and value.form == "records")
    }
    if not wanted and len(lists) == 1:
        return next(iter(lists.items()))
    if wanted in lists:
        return wanted, lists[wanted]
    names = sorted(lists)
    if not names:
        raise ActionError("NO_COLLECTION", f"{action} returned no list", retryable=False)
    what = f"{action} returned no list {wanted!r}" if wanted else f"{action} returned {len(names)} lists"
    advice = f"Give from_output: {', '.join(names)}."
    raise ActionError(
        "NO_COLLECTION", what, retryable=True, suggestion=advice, suggested=near(wanted, names) or names[:5]
    )


def _lines(path: Path) -> Iterator[Json]:
    """Yield the records of a content, one in memory at a time."""
    with path.open(encoding="utf-8") as content:
        for line in content:
            yield json.loads(line)
