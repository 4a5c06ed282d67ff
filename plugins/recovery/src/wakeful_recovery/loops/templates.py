"""Argument templates: ``item.email``, ``index``, ``last.rows[0].id``, ``payload.region``; else literal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from wakeful.types import ActionError, Json, near

#: A whole text that names a place; quotes around it make no difference.
_PLACE = re.compile(r"""(['"]?)(item|index|last|payload)((?:\.[\w-]+|\[\d{1,9}\])*)\1""")
_PART = re.compile(r"\.([\w-]+)|\[(\d+)\]")
#: How much of the names at a place an error lists.
_LISTED = 8

Scope = Mapping[str, Json]


def filled(template: Json, scope: Scope) -> Json:
    """Return a template with every text that names a place replaced by what stands there.

    Args:
        template: as the call has it.
        scope: what stands at ``item``, ``index`` and ``last``, and at every text that :func:`referred` gave.

    Raises:
        ActionError: a place is not there; the code is ``NO_SUCH_VALUE``.
    """
    if isinstance(template, Mapping):
        return {name: filled(value, scope) for name, value in template.items()}
    if isinstance(template, list):
        return [filled(value, scope) for value in template]
    if not isinstance(template, str) or (found := _PLACE.fullmatch(template)) is None:
        return template
    head, path = found[2], found[3]
    if head == "payload":
        return scope[head + path]
    if head not in scope:
        return template
    return at(head, scope[head], path)


def referred(template: Json) -> set[str]:
    """Return the texts of a template that name places in the payload, which the loop does not hold."""
    if isinstance(template, Mapping):
        return set().union(*map(referred, template.values()))
    if isinstance(template, list):
        return set().union(*map(referred, template))
    place = named_place(template) if isinstance(template, str) else None
    return set() if place is None else {place}


def named_place(text: str) -> str | None:
    """Return the place in the payload that a text names, without quotes; None if it names none."""
    found = _PLACE.fullmatch(text)
    return found[2] + found[3] if found and found[2] == "payload" else None


def without_last(template: Json) -> Json:
    """Return the arguments of a first iteration: those that name the one before it are left out."""
    if not isinstance(template, Mapping):
        return template
    return {name: value for name, value in template.items() if not names_last(value)}


def names_last(text: Json) -> bool:
    """Return whether a text is a place in the result of the iteration before."""
    found = _PLACE.fullmatch(text) if isinstance(text, str) else None
    return found is not None and found[2] == "last"


def at(head: str, value: Json, path: str) -> Json:
    """Return what stands at a path below a value.

    Raises:
        ActionError: nothing does.
    """
    done = head
    for part in _PART.finditer(path):
        name, place = part[1], part[2]
        if place is not None and isinstance(value, Sequence) and not isinstance(value, str):
            if int(place) >= len(value):
                raise _missing(f"{done} has {len(value)} entries, and [{place}] was asked for", ())
            value = value[int(place)]
        elif name is not None and isinstance(value, Mapping) and name in value:
            value = value[name]
        else:
            known = [str(key) for key in value] if isinstance(value, Mapping) else []
            listed = f"; it has {', '.join(known[:_LISTED])}" if known else ""
            raise _missing(f"{done} has no {part[0]}{listed}", near(name or "", known))
        done += part[0]
    return value


def _missing(what: str, suggested: Sequence[str]) -> ActionError:
    return ActionError("NO_SUCH_VALUE", what, retryable=True, suggested=suggested)
