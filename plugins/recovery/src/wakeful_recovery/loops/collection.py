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
    read_json,
)
from wakeful_recovery.loops.names import resolved
from wakeful_recovery.loops.templates import named_place

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
    if isinstance(items, str):
        return await _written(items, ctx)
    if (items is None) == (name is None):
        what = "expected either 'items' or 'from_action'"
        advice = "Give one of them: the items, or the action whose list is gone through."
        raise ActionError("NO_COLLECTION", what, retryable=True, suggestion=advice)
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


async def _written(text: str, ctx: ActionContext) -> Collection:
    """Return the collection of a text: a place in the payload, or a list written as JSON."""
    place = named_place(text)
    if place is None:
        try:
            items = read_json(text)
        except ValueError:
            items = None
        return _listed(items, "items", text, ())
    places, provenance = await standing(ctx, {place})
    return _listed(places[place], place, text, provenance)


def _listed(items: Json, name: str, text: str, provenance: tuple[Provenance, ...]) -> Collection:
    if not isinstance(items, list):
        what = f"items: there is no list at {text[:60]!r}"
        advice = "Give a list, a place such as payload.people, or from_action."
        raise ActionError("NO_COLLECTION", what, retryable=True, suggestion=advice)
    return Collection(iter(items), f"{name} ({len(items):,})", provenance=provenance)


async def standing(
    ctx: ActionContext, places: set[str], *, missing_too: bool = False
) -> tuple[dict[str, Json], tuple[Provenance, ...]]:
    """Return what stands at places in the payload now, and what of it is not trusted.

    Raises:
        ActionError: there is no payload; or nothing stands at a place, unless that is to be None.
    """
    found: dict[str, Json] = {}
    provenance = []
    for place in sorted(places):
        try:
            value = await ctx.refer(place)
        except ActionError as error:
            if not missing_too or error.code != "NO_SUCH_VALUE":
                raise
            found[place] = None
            continue
        found[place] = value.value
        if value.trust is not Trust.TRUSTED:
            provenance.append(Provenance("", place, value.trust, value.source))
    return found, tuple(provenance)


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
