"""Arguments of a call: parsed, coerced without loss, checked against the action's schema.

Every problem of a call is reported at once, so that the model can repair it in one step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from wakeful.tools.coerce import coerce
from wakeful.tools.decode import TOO_DEEP, Refused, check_depth, decode
from wakeful.tools.problems import Finding, example, explain_all, report
from wakeful.tools.schemas import closed
from wakeful.types import Action, ActionResult, DeclarationError, ErrorRecovery, Json, clean, failure

_checkers: WeakKeyDictionary[Action, Checker] = WeakKeyDictionary()


class Checker:
    """The compiled check of one action; made at its first call and kept as long as the action."""

    def __init__(self, action: Action) -> None:
        """Compile the schema, with every object that names its properties closed to others.

        Raises:
            DeclarationError: the schema is not valid.
        """
        self.schema: dict[str, Json] = closed(action.schema or {"type": "object"}, root=True)
        self._validator = _compile(self.schema, action.name)

    def check(self, value: Mapping[str, Json]) -> tuple[dict[str, Json], list[Finding]]:
        """Return the coerced arguments and what is wrong with them.

        Raises:
            Refused: JSON strings in place of objects open up too deep.
        """
        try:
            args: dict[str, Json] = clean(coerce(self.schema, value, self.schema))
        except RecursionError as error:
            raise Refused(TOO_DEEP) from error
        check_depth(args)
        return args, explain_all(list(self._validator.iter_errors(args)), self.schema)

    def example(self) -> Json:
        """Return arguments that pass, or None when none are easily found."""
        found = example(self.schema, self.schema)
        return found if self._validator.is_valid(found) else None


def checker_of(action: Action) -> Checker:
    """Return the compiled check of ``action``, the same one at every call."""
    checker = _checkers.get(action)
    if checker is None:
        checker = _checkers[action] = Checker(action)
    return checker


def check_arguments(action: Action, raw: str | Mapping[str, Json]) -> dict[str, Json] | ActionResult:
    """Return the arguments of a call as checked JSON, or the failed result that says what is wrong.

    Coercion loses nothing: ``"5"`` becomes 5 where an integer is declared, ``5.0`` becomes 5,
    ``"true"`` true, and a JSON string the object or array that is declared; never ``"5.5"`` 5.

    Args:
        action: what is called.
        raw: the model's own bytes, or a mapping. Empty text means no arguments.

    Returns:
        A failed result with the code ``INVALID_JSON``, ``UNKNOWN_ARGUMENT``, ``MISSING_ARGUMENT`` or
        ``INVALID_ARGUMENT`` (the first of these that applies) and a recovery that lists all problems.
    """
    checker = checker_of(action)
    try:
        args, found = checker.check(decode(raw))
    except Refused as error:
        return failure(
            "INVALID_JSON",
            f"arguments of {action.tool_name} {error}",
            ErrorRecovery(retryable=True, suggestion="Send the arguments as one JSON object."),
        )
    return report(action.tool_name, found, checker.example()) if found else args


def _compile(schema: dict[str, Json], name: str) -> Any:
    import jsonschema_rs  # late: a check may never be needed, and importing wakeful stays cheap

    try:
        # Offline: a reference in a schema from outside must not make this process fetch anything.
        return jsonschema_rs.Draft202012Validator(
            schema, validate_formats=True, formats={"time": _is_time}, offline=True
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        what = str(error).splitlines()[0][:200]
        raise DeclarationError(f"action {name!r}: its schema is not valid: {what}") from error


def _is_time(text: str) -> bool:
    """ISO 8601 times with or without an offset; JSON schema's own format demands one."""
    from datetime import time

    try:
        time.fromisoformat(text)
    except ValueError:
        return False
    return True
