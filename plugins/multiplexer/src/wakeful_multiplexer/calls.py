"""What a call of ``execute_discovered_action`` asks for, read from the model's own bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping

from attrs import frozen

from wakeful.tools.decode import Refused, Written, decode, parse
from wakeful.types import ActionResult, ErrorRecovery, Json, failure, fold

#: The tool that runs hidden actions.
EXECUTE = "execute_discovered_action"
#: The tool that finds them.
SEARCH = "search_available_actions"
#: Most actions of one call.
MOST = 20

#: How models spell the parts of an entry, folded.
_NAME = frozenset({"actionname", "action", "name", "toolname", "tool"})
_PARAMETERS = frozenset({"parameters", "params", "arguments", "args", "input"})
_FORM = '{"actions": [{"action_name": "…", "parameters": {…}}]}'


@frozen
class Inner:
    """One action that is to run: its name as it was written, and the JSON text of its arguments."""

    name: str
    args: str


def inner_calls(raw: str) -> list[Inner | ActionResult] | ActionResult:
    """Return what a call asks for, entry by entry; a failed result for what cannot be read.

    Args:
        raw: the arguments of the call, as the model wrote them.
    """
    try:
        given = decode(raw)
        entries = _entries(given)
    except Refused as error:
        return _malformed("INVALID_JSON", f"arguments of {EXECUTE} {error}")
    if entries is None:
        return _malformed("INVALID_ARGUMENT", "'actions' must be a list of actions to run")
    if not entries:
        return _malformed("MISSING_ARGUMENT", "'actions' names no action to run")
    if len(entries) > MOST:
        what = f"{len(entries)} actions in one call; at most {MOST} are run at once, and none of these was"
        return _malformed("INVALID_ARGUMENT", what)
    return [_inner(entry) for entry in entries]


def search_arguments(raw: str) -> Mapping[str, Json] | str:
    """Return the arguments of a search, with one query, or a text of one, made a list of them."""
    try:
        given = dict(decode(raw))
    except Refused:
        return raw
    if "query" in given and "queries" not in given:
        given["queries"] = given.pop("query")
    queries = given.get("queries")
    if isinstance(queries, str):
        given["queries"] = _listed(queries)
    return given


def _listed(queries: str) -> list[Json]:
    """Return what one text asks for: itself, or the queries of a list that was written as text."""
    try:
        found = parse(queries) if queries.lstrip().startswith("[") else None
    except Refused:
        found = None
    return found if isinstance(found, list) else [queries]


def _entries(given: Mapping[str, Json]) -> list[Json] | None:
    """Return the entries of a call; one that stands there alone counts as a list of one."""
    (key,) = given if len(given) == 1 else ("",)
    found = given[key] if fold(key) == "actions" else given
    if isinstance(found, str):
        found = parse(found)
    if isinstance(found, Mapping):
        return [found] if found else []
    return found if isinstance(found, list) else None


def _inner(entry: Json) -> Inner | ActionResult:
    if not isinstance(entry, Mapping):
        return _malformed("INVALID_ARGUMENT", "an entry of 'actions' must be an object")
    name: Json = None
    parameters: Json = None
    for key, value in entry.items():
        if fold(key) in _NAME:
            name = value
        elif fold(key) in _PARAMETERS:
            parameters = value
        else:
            what = f"{key[:60]!r} is no part of an entry; arguments of the action stand in 'parameters'"
            return _malformed("UNKNOWN_ARGUMENT", what)
    if not isinstance(name, str) or not name.strip():
        return _malformed("MISSING_ARGUMENT", "an entry of 'actions' has no 'action_name'")
    if parameters is None:
        parameters = {}
    if not isinstance(parameters, Mapping | str):
        return _malformed("INVALID_ARGUMENT", f"'parameters' of {name[:80]} must be an object")
    return Inner(name.strip(), parameters if isinstance(parameters, str) else _spelled(parameters))


def _spelled(value: Json) -> str:
    """Return a value as JSON with every number as it was written."""
    if isinstance(value, Written):
        return value.text
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json.dumps(key)}:{_spelled(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_spelled, value)) + "]"
    return json.dumps(value)


def _malformed(code: str, message: str) -> ActionResult:
    recovery = ErrorRecovery(retryable=True, suggestion=f"Write it as {_FORM}.")
    return failure(code, message, recovery)
