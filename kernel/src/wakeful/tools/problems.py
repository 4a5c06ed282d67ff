"""What is wrong with arguments, in words from which a model can repair the call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from wakeful.tools.schemas import known_properties, resolve, schema_at
from wakeful.tools.shapes import json_type
from wakeful.types import (
    NEAR_LIMIT,
    ActionResult,
    ErrorRecovery,
    InvalidParam,
    Json,
    canonical,
    failure,
    near,
)

#: Characters of a value that a message may repeat.
_ECHO = 60
#: Findings spelt out in the message.
_SPELT = 6
#: Findings, and allowed values of each, kept in the recovery: a model repairs no more in one step.
_KEPT = 50
_CODES = ("UNKNOWN_ARGUMENT", "MISSING_ARGUMENT", "INVALID_ARGUMENT")
_ARTICLES = {"integer": "an integer", "object": "an object", "array": "an array", "null": "null"}
_SAMPLES = {
    "date-time": "2026-01-31T09:30:00Z",
    "date": "2026-01-31",
    "time": "09:30:00",
    "email": "ana@example.com",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "uri": "https://example.com/",
    "decimal": "12.50",
}


@frozen
class Finding:
    """One problem: the code it belongs to, the parameter, and near names or values."""

    code: str
    param: InvalidParam
    near: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the clause of the message."""
        hint = f"; did you mean {self.near[0]!r}?" if self.near else ""
        return f"{self.param.param!r} {self.param.reason}{hint}"


def explain_all(errors: Sequence[Any], schema: Mapping[str, Json]) -> list[Finding]:
    """Return what the errors of the validator (jsonschema_rs) mean; never nothing for an error."""
    found = [finding for error in errors for finding in explain(error, schema)]
    return found or [_invalid(error, list(error.instance_path)) for error in errors]


def explain(error: Any, schema: Mapping[str, Json]) -> Iterator[Finding]:
    """Yield what one error of the validator means; a failed union yields the errors of the branch meant."""
    path, kind = list(error.instance_path), error.kind
    if kind.name in {"additionalProperties", "unevaluatedProperties"}:
        known = sorted(known_properties_at(schema, path))
        # A part of a composed schema that fails makes the validator call even its own names unexpected.
        composed = kind.name == "unevaluatedProperties"
        for name in (name for name in kind.unexpected if not (composed and name in known)):
            yield _unknown(_spell([*path, name]), name, known)
    elif kind.name == "required":
        yield _missing(schema, [*path, kind.property])
    elif kind.name in {"anyOf", "oneOf"} and (branch := _branch_meant(error, schema)):
        for inner in branch:
            yield from explain(inner, schema)
    else:
        yield _no_branch(error, schema, path) or _invalid(error, path)


def report(tool: str, found: Sequence[Finding], valid_example: Json) -> ActionResult:
    """Return the failed result that lists every finding once."""
    unique = list(dict.fromkeys(found))
    unique.sort(key=lambda finding: _CODES.index(finding.code))
    clauses = [str(finding) for finding in unique[:_SPELT]]
    if len(unique) > _SPELT:
        clauses.append(f"and {len(unique) - _SPELT} more")
    close = dict.fromkeys(name for finding in unique for name in finding.near)
    return failure(
        unique[0].code,
        f"{tool} was not run: {'; '.join(clauses)}",
        ErrorRecovery(
            retryable=True,
            suggestion="Correct the arguments and call again.",
            suggested_values=tuple(close)[:NEAR_LIMIT],
            invalid_params=tuple(finding.param for finding in unique[:_KEPT]),
            valid_example=valid_example,
        ),
    )


def example(schema: Any, root: Mapping[str, Json], depth: int = 0) -> Json:
    """Return a small value that fits ``schema``: defaults, first allowed values, samples of formats."""
    here = resolve(schema, root)
    for key in ("default", "const"):
        if key in here:
            return here[key]
    for key in ("enum", "examples"):
        if here.get(key):
            return here[key][0]
    branches = here.get("anyOf") or here.get("oneOf")
    if branches:
        return example(branches[0], root, depth + 1)
    kind = here.get("type", "object" if "properties" in here else "string")
    kind = kind if isinstance(kind, str) else kind[0]
    if kind == "object":
        names = here.get("required", ()) if depth < 4 else ()  # noqa: PLR2004  (deep enough for an example)
        known = known_properties(here)
        return {name: example(known.get(name), root, depth + 1) for name in names}
    if kind == "array":
        return [example(here.get("items"), root, depth + 1)] if depth < 4 else []  # noqa: PLR2004  (same)
    if kind in {"integer", "number"}:
        return here.get("minimum", 1)
    return {"boolean": True, "null": None}.get(kind, _SAMPLES.get(str(here.get("format")), "text"))


def known_properties_at(schema: Mapping[str, Json], path: list[Any]) -> Mapping[str, Json]:
    """Return the properties known for the object at ``path``."""
    return known_properties(schema_at(schema, path) if path else schema)


def _unknown(path: str, name: str, known: list[str]) -> Finding:
    close = near(name, known)
    reason = "is not a parameter"
    if not close:
        reason += f" (known: {', '.join(known[:10])})" if known else " (it takes none)"
    return Finding("UNKNOWN_ARGUMENT", InvalidParam(path[:80], reason), close)


def _missing(schema: Mapping[str, Json], path: list[Any]) -> Finding:
    part = schema_at(schema, path)
    return Finding(
        "MISSING_ARGUMENT",
        InvalidParam(_spell(path), "is required", _expected(part), tuple(part.get("enum", ())[:_KEPT])),
    )


def _invalid(error: Any, path: list[Any]) -> Finding:
    kind, value, where = error.kind, error.instance, _spell(path) or "arguments"
    if kind.name == "enum":
        options = tuple(kind.options)
        texts = [option for option in options if isinstance(option, str)]
        close = near(value, texts) if isinstance(value, str) else ()
        listed = ", ".join(_echo(option) for option in options[:12]) + (", …" if len(options) > 12 else "")  # noqa: PLR2004  (fits a message)
        return Finding(
            "INVALID_ARGUMENT",
            InvalidParam(where, f"must be one of {listed}, not {_echo(value)}", "", options[:_KEPT]),
            close,
        )
    expected = _demand(kind)
    shown = f", not {_echo(value)}" if kind.name != "uniqueItems" else ""
    return Finding("INVALID_ARGUMENT", InvalidParam(where, f"must {expected}{shown}", _format_of(kind)))


def _demand(kind: Any) -> str:
    limits = {
        "minimum": "be at least {}",
        "maximum": "be at most {}",
        "exclusiveMinimum": "be more than {}",
        "exclusiveMaximum": "be less than {}",
        "minLength": "have at least {} characters",
        "maxLength": "have at most {} characters",
        "minItems": "have at least {} items",
        "maxItems": "have at most {} items",
        "minProperties": "have at least {} entries",
        "maxProperties": "have at most {} entries",
    }
    if kind.name in limits:
        return limits[kind.name].format(kind.limit)
    if kind.name == "type":
        return _typed(kind.types)
    if kind.name == "format":
        return f"be a valid {kind.format}{_like(kind.format)}"
    if kind.name == "pattern":
        return f"match the pattern {kind.pattern[:80]}"
    if kind.name == "multipleOf":
        return f"be a multiple of {kind.multiple_of}"
    if kind.name == "const":
        return f"be {_echo(kind.expected_value)}"
    if kind.name == "uniqueItems":
        return "not have the same item twice"
    return f"fit the schema's {kind.name!r}"


def _like(name: str) -> str:
    return f" like {_SAMPLES[name]}" if name in _SAMPLES else ""


def _format_of(kind: Any) -> str:
    if kind.name == "format":
        return f"{kind.format}{_like(kind.format)}"
    if kind.name == "type":
        return " or ".join(sorted(kind.types))
    return str(kind.pattern) if kind.name == "pattern" else ""


def _expected(schema: Mapping[str, Json]) -> str:
    kind = schema.get("type", "")
    text = kind if isinstance(kind, str) else " or ".join(sorted(kind))
    return f"{text}, {schema['format']}{_like(schema['format'])}" if "format" in schema else text


def _branch_meant(error: Any, schema: Mapping[str, Json]) -> list[Any] | None:
    """Return the errors of the branch that takes the value's type; of several, the one with fewest."""
    here = schema_at(schema, list(error.instance_path))
    branches = here.get(error.kind.name) or []
    contexts = getattr(error.kind, "context", None) or []
    if len(contexts) != len(branches):
        return None
    found = json_type(error.instance)
    wanted = {found, "number"} if found == "integer" else {found}
    meant = []
    for branch, errors in zip(branches, contexts, strict=True):
        kind = resolve(branch, schema).get("type", [found])
        if wanted & ({kind} if isinstance(kind, str) else set(kind)):
            meant.append(list(errors))
    return min(meant, key=len, default=None)


def _no_branch(error: Any, schema: Mapping[str, Json], path: list[Any]) -> Finding | None:
    """Return what is wrong with a value of a type that no branch takes; None if that is not the matter."""
    branches = schema_at(schema, path).get(error.kind.name) if error.kind.name in {"anyOf", "oneOf"} else ()
    types: set[str] = set()
    for branch in branches or ():
        kind = resolve(branch, schema).get("type", ())
        types |= {kind} if isinstance(kind, str) else set(kind)
    if not types or json_type(error.instance) in types:
        return None
    reason = f"must {_typed(types)}, not {_echo(error.instance)}"
    param = InvalidParam(_spell(path) or "arguments", reason, " or ".join(sorted(types)))
    return Finding("INVALID_ARGUMENT", param)


def _typed(types: Iterable[str]) -> str:
    return "be " + " or ".join(_ARTICLES.get(name, f"a {name}") for name in sorted(types))


def _spell(path: list[Any]) -> str:
    """Return ``items[2].name``."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{str(step)[:60]}" for step in path)
    return text.removeprefix(".")


def _echo(value: Json) -> str:
    text = canonical(value)
    text = " ".join(text.split())
    return text if len(text) <= _ECHO else f"{text[:_ECHO]}… ({json_type(value)}, {len(text):,} characters)"
