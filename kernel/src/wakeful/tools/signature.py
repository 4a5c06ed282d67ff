"""The parameters of an action's function: hints resolved, schema built, arguments loaded."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin

from attrs import frozen

from wakeful.tools.defaults import check_default
from wakeful.tools.docstrings import split_docstring
from wakeful.tools.hints import shape_of
from wakeful.tools.records import with_default
from wakeful.tools.shapes import Place
from wakeful.types import ActionContext, DeclarationError, Json, Param

_VARIADIC = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


@frozen
class Signature:
    """What a function takes.

    Args:
        description: its docstring without the Args section.
        params: the parameters that a model gives, in the order of the function.
        schema: the JSON schema of them all.
        loaders: parameter name to what turns its checked JSON into Python.
        context: name of the parameter that takes the context, or empty.
    """

    description: str
    params: tuple[Param, ...]
    schema: dict[str, Json]
    loaders: Mapping[str, Callable[[Json], Any]]
    context: str


def read_signature(function: Callable[..., Any], action: str, scope: Mapping[str, Any]) -> Signature:
    """Return the signature of an action's function.

    Args:
        function: a function or bound method.
        action: the action's name, for messages.
        scope: names visible where it was declared, beside its globals.

    Raises:
        DeclarationError: naming the action and the parameter.
    """
    description, texts = split_docstring(function.__doc__)
    # Linters move the import of ActionContext under TYPE_CHECKING, so it is known everywhere.
    names = {"ActionContext": ActionContext, **_globals(function), **scope}
    params: list[Param] = []
    properties: dict[str, Json] = {}
    loaders: dict[str, Callable[[Json], Any]] = {}
    context = ""
    for name, parameter in inspect.signature(function).parameters.items():
        where = f"action {action!r}, parameter {name!r}"
        hint = _hint(parameter, where, names)
        if hint is ActionContext or ActionContext in get_args(hint):
            context = name
            continue
        shape = shape_of(hint, Place(where, names))
        schema = dict(shape.schema)
        if texts.get(name):
            schema.setdefault("description", texts[name])
        required = parameter.default is parameter.empty
        if not required:
            check_default(parameter.default, schema, where)
            schema = with_default(schema, parameter.default)
        properties[name], loaders[name] = schema, shape.load
        params.append(_param(name, hint, schema, required=required))
    whole: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "required": sorted(param.name for param in params if param.required),
        "additionalProperties": False,
    }
    return Signature(description, tuple(params), whole, loaders, context)


def _globals(function: Callable[..., Any]) -> dict[str, Any]:
    plain = inspect.unwrap(function)
    plain = getattr(plain, "__func__", plain)
    if not hasattr(plain, "__globals__"):
        plain = getattr(type(plain).__call__, "__func__", type(plain).__call__)
    found: dict[str, Any] = dict(getattr(plain, "__globals__", {}))
    code, cells = getattr(plain, "__code__", None), getattr(plain, "__closure__", None) or ()
    for name, cell in zip(code.co_freevars if code else (), cells, strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # a name that is assigned later
            continue
    return found


def _hint(parameter: inspect.Parameter, where: str, names: Mapping[str, Any]) -> Any:
    if parameter.kind in _VARIADIC:
        msg = f"{where}: {_VARIADIC[parameter.kind]}{parameter.name} cannot be declared; name each parameter"
        raise DeclarationError(msg)
    if parameter.kind is parameter.POSITIONAL_ONLY:
        msg = f"{where}: is positional-only; a model names its arguments, so remove the '/'"
        raise DeclarationError(msg)
    hint = parameter.annotation
    if hint is parameter.empty:
        advice = f"write {parameter.name}: str, for example"
        if parameter.name in {"self", "cls"}:
            advice = "declare the bound method instead: action(...)(self.method)"
        msg = f"{where}: has no type annotation; {advice}"
        raise DeclarationError(msg)
    return _resolve(hint, where, names) if isinstance(hint, str) else hint


def _resolve(text: str, where: str, names: Mapping[str, Any]) -> Any:
    """Evaluate an annotation that ``from __future__ import annotations`` left as text."""
    if text.strip("'\"").rpartition(".")[2] == "ActionContext":
        return ActionContext
    try:
        hint = eval(text, dict(names))  # noqa: S307  (the user's own source, as typing.get_type_hints does)
    except Exception as error:
        msg = (
            f"{where}: annotation {text!r} cannot be resolved ({error}); "
            "import the name at run time, outside TYPE_CHECKING"
        )
        raise DeclarationError(msg) from error
    return _resolve(hint, where, names) if isinstance(hint, str) else hint


def _param(name: str, hint: Any, schema: dict[str, Json], *, required: bool) -> Param:
    marks = hint.__metadata__ if get_origin(hint) is Annotated and get_args(hint) else ()
    role = next((mark.role for mark in marks if isinstance(mark, Param) and mark.role), "")
    return Param(
        description=str(schema.get("description", "")),
        role=role,
        format=str(schema.get("format", "")),
        name=name,
        required=required,
        schema=schema,
    )
