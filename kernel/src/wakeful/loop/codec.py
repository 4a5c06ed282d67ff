"""Kernel values as the JSON text that the store keeps, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from attrs import asdict, evolve, fields

from wakeful.types import (
    ActionResult,
    Artifact,
    Declared,
    Directive,
    Disposition,
    ErrorRecovery,
    Final,
    Fragment,
    InvalidParam,
    Item,
    Json,
    Kept,
    Limits,
    Provenance,
    Reply,
    Section,
    Sent,
    Spooled,
    Stop,
    Tool,
    Trust,
    Usage,
    canonical,
    clean,
    dump_item,
    load_item,
)

#: Every step writes results, and loops thousands: what is empty is left out, what is plain stays as it is.
_FIELDS = tuple(each.name for each in fields(ActionResult))
_NESTED = frozenset({"directives", "recovery", "final", "artifacts"})
_NOTHING: tuple[Json, ...] = (None, "", (), {})


def dump_items(items: Iterable[Item]) -> str:
    """Return items as JSON text; the order of an opaque item's keys is content and is kept."""
    dumped = clean([dump_item(item) for item in items])
    return json.dumps(dumped, separators=(",", ":"), ensure_ascii=False)


def load_items(text: str) -> tuple[Item, ...]:
    """Return what :func:`dump_items` wrote."""
    return tuple(load_item(value) for value in json.loads(text))


def dump_result(result: ActionResult) -> str:
    """Return a result as canonical JSON; of outputs in the file store, what they are and where."""
    there = {name: value for name, value in result.outputs.items() if isinstance(value, Spooled)}
    if there:
        result = evolve(result, outputs={k: v for k, v in result.outputs.items() if k not in there})
    value = {name: given for name in _FIELDS if (given := getattr(result, name)) not in _NOTHING}
    if not result.held:
        del value["held"]
    for name in _NESTED.intersection(value):
        nested = value[name]
        value[name] = [asdict(each) for each in nested] if isinstance(nested, tuple) else asdict(nested)
    if there:
        value["spooled"] = {name: asdict(evolve(item, value=None)) for name, item in there.items()}
    return canonical(clean(value))


def check_storable(result: object) -> None:
    """Refuse what the journal cannot keep, while there is still an action to name.

    Raises:
        TypeError: it is no result, or JSON cannot express its outputs.
        ValueError: a number in it is infinite or none.
    """
    if not isinstance(result, ActionResult):
        raise TypeError(f"expected an ActionResult, got a {type(result).__name__}")
    dump_result(result)


def load_result(text: str) -> ActionResult:
    """Return what :func:`dump_result` wrote."""
    value: dict[str, Json] = json.loads(text)
    if "trust" in value:
        value["trust"] = Trust(value["trust"])
    if "directives" in value:
        value["directives"] = tuple(Directive(**item) for item in value["directives"])
    if "final" in value:
        final = value["final"]
        value["final"] = Final(final["text"], Disposition(final["disposition"]), final.get("reaction"))
    taught = value.get("recovery")
    if taught is not None:
        value["recovery"] = _load_recovery(taught)
    if "artifacts" in value:
        made = (Artifact(**{**item, "trust": Trust(item["trust"])}) for item in value["artifacts"])
        value["artifacts"] = tuple(made)
    if "spooled" in value:
        there = {name: _load_spooled(item) for name, item in value.pop("spooled").items()}
        value["outputs"] = {**value.get("outputs", {}), **there}
    value.setdefault("success", False)
    return ActionResult(**value)


def _load_spooled(value: Mapping[str, Json]) -> Spooled:
    return Spooled(**{**value, "columns": tuple((name, kind) for name, kind in value["columns"])})


def _load_recovery(value: Mapping[str, Json]) -> ErrorRecovery:
    params = tuple(
        InvalidParam(
            item["param"],
            item["reason"],
            item.get("expected_format", ""),
            tuple(item.get("allowed_values", ())),
        )
        for item in value.get("invalid_params", ())
    )
    return ErrorRecovery(
        retryable=value.get("retryable"),
        suggestion=value.get("suggestion", ""),
        suggested_values=tuple(value.get("suggested_values", ())),
        invalid_params=params,
        valid_example=value.get("valid_example"),
        suggested_next_actions=tuple(value.get("suggested_next_actions", ())),
    )


def load_declared(text: str) -> Declared:
    """Return what :meth:`Declared.dump` wrote."""
    value = json.loads(text)
    return Declared(
        value["model"],
        tuple(Tool(*tool) for tool in value["tools"]),
        tuple(Section(*section) for section in value["sections"]),
        value["decisions"],
    )


def dump_sent(sent: Sent | None) -> str | None:
    """Return a fingerprint as canonical JSON."""
    return None if sent is None else canonical(asdict(sent))


def load_sent(text: str | None) -> Sent | None:
    """Return what :func:`dump_sent` wrote."""
    return None if text is None else Sent(**json.loads(text))


def dump_kept(kept: Kept, epoch: int, agent: str) -> dict[str, Json]:
    """Return what a state row remembers of what was sent, in which epoch of which agent."""
    return {"after": kept.after, "hashes": dict(kept.hashes), "epoch": epoch, "agent": agent}


def dump_fragments(fragments: Iterable[Fragment]) -> str:
    """Return fragments as canonical JSON."""
    return canonical(clean([[f.name, f.order, f.text, int(f.trust), f.source] for f in fragments]))


def load_fragments(text: str) -> tuple[Fragment, ...]:
    """Return what :func:`dump_fragments` wrote."""
    return tuple(Fragment(n, o, t, Trust(level), s) for n, o, t, level, s in json.loads(text))


def dump_reply(reply: Reply) -> str:
    """Return a reply as JSON text."""
    return dump_items(reply.items)


def load_reply(items: str, stop: str, usage: Usage) -> Reply:
    """Return what :func:`dump_reply` wrote, with the columns beside it."""
    return Reply(load_items(items), usage, Stop(stop))


def dump_provenance(found: Iterable[Provenance]) -> str:
    """Return where arguments came from as canonical JSON."""
    return canonical(clean([[p.argument, p.reference, int(p.trust), p.source] for p in found]))


def load_provenance(text: str) -> tuple[Provenance, ...]:
    """Return what :func:`dump_provenance` wrote."""
    return tuple(Provenance(name, ref, Trust(level), source) for name, ref, level, source in json.loads(text))


def dump_limits(limits: Limits) -> str:
    """Return limits as canonical JSON."""
    return canonical(asdict(limits))
