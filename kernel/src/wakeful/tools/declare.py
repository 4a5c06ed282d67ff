"""``@action``: a typed Python function becomes an :class:`Action`."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from types import FrameType
from typing import Any, overload

from attrs import field, frozen

from wakeful.tools.signature import Signature, read_signature
from wakeful.tools.values import begun, to_result
from wakeful.types import (
    Action,
    ActionContext,
    ActionResult,
    DeclarationError,
    Effect,
    ErrorRecovery,
    Expiration,
    InvalidParam,
    Json,
    ResultCode,
    Trust,
    failure,
    nearest,
)
from wakeful.types import (
    tool_name as derive_tool_name,
)

#: Codes that mean success although nothing says so; any code that starts with SUCCESS does too.
_SUCCESSES = frozenset({"NO_CHANGES", "COMPLETED"})
#: Longest tool name that both OpenAI and Anthropic accept.
_TOOL_NAME_LIMIT = 64

Function = Callable[..., Any]
#: Fields of an action that are passed on as they are.
_SETTINGS = frozenset(
    {
        "idempotent",
        "can_stage",
        "category",
        "tier",
        "pinned",
        "timeout_s",
        "max_executions",
        "min_executions",
        "spill_chars",
        "spill_kind",
        "expiration",
        "directives_allowed",
    }
)


@overload
def action(name: Function, /) -> Action: ...


@overload
def action(
    name: str | None = None,
    *,
    effect: Effect | str = ...,
    output_trust: Trust | str = ...,
    description: str | None = ...,
    idempotent: bool = ...,
    can_stage: bool = ...,
    external_if_present: Sequence[str] = ...,
    result_codes: Sequence[ResultCode | str] = ...,
    keywords: Sequence[str] = ...,
    category: str = ...,
    tier: int = ...,
    pinned: bool = ...,
    timeout_s: float = ...,
    max_executions: int | None = ...,
    min_executions: int | None = ...,
    spill_chars: int | None = ...,
    spill_kind: str = ...,
    expiration: Expiration | None = ...,
    directives_allowed: bool = ...,
    tool_name: str | None = ...,
) -> Callable[[Function], Action]: ...


def action(
    name: str | Function | None = None,
    *,
    effect: Effect | str = Effect.EXTERNAL,
    output_trust: Trust | str = Trust.UNTRUSTED,
    description: str | None = None,
    external_if_present: Sequence[str] = (),
    result_codes: Sequence[ResultCode | str] = (),
    keywords: Sequence[str] = (),
    tool_name: str | None = None,
    **settings: Any,
) -> Action | Callable[[Function], Action]:
    """Declare a function as an action: ``@action``, ``@action(...)`` or ``action(...)(self.method)``.

    Parameters become the schema by their type hints; their texts come from the docstring's Args
    section or from ``Annotated``. One annotated ``ActionContext`` is filled in and not declared. A
    plain function runs in a thread and is not interrupted there when its call is given up. Whatever
    it returns becomes a result, see :func:`wakeful.tools.values.to_result`.

    Args:
        name: human name; taken from the function (``overdue_invoices``: "Overdue Invoices").
        effect: an :class:`Effect` or its text; silence means ``external``.
        output_trust: a :class:`Trust` or its text; silence means ``untrusted``.
        description: instead of the docstring.
        external_if_present: parameters that make a call external when given.
        result_codes: codes, as :class:`ResultCode` or text (success is taken from the name).
        keywords: for discovery.
        tool_name: at most 64 letters, digits, ``_`` and ``-``; derived from the name.
        settings: the other fields of :class:`Action`, ``timeout_s`` (seconds) and so on.

    Raises:
        DeclarationError: naming the action and the parameter.
    """
    frame = inspect.currentframe()
    scope = _Scope.of(frame.f_back) if frame else _Scope()

    def declare(function: Function) -> Action:
        title = name if isinstance(name, str) else _title(function)
        signature = read_signature(function, title, scope.names_for(function))
        _check_settings(settings, title)
        unknown = [known for known in external_if_present if known not in signature.loaders]
        if unknown:
            msg = f"action {title!r}: external_if_present names no parameter {unknown[0]!r}"
            raise DeclarationError(msg + nearest(unknown[0], signature.loaders))
        return Action(
            name=title,
            description=signature.description if description is None else description,
            schema=signature.schema,
            run=_runner(function, signature),
            tool_name=checked_tool_name(title, tool_name),
            effect=effect_of(effect, title),
            output_trust=trust_of(output_trust, title),
            external_if_present=tuple(external_if_present),
            params=signature.params,
            result_codes=tuple(result_code(code) for code in result_codes),
            keywords=tuple(keywords),
            **settings,
        )

    return declare(name) if callable(name) else declare


def result_code(code: ResultCode | str, *, success: bool | None = None, description: str = "") -> ResultCode:
    """Return a code; where nothing says whether it means success, its name decides.

    Codes that start with SUCCESS, NO_CHANGES and Completed are successes; unknown ones are failures.
    """
    if isinstance(code, ResultCode):
        return code
    if success is None:
        success = code.upper().startswith("SUCCESS") or code.upper() in _SUCCESSES
    return ResultCode(code, success, description)


def checked_tool_name(title: str, given: str | None = None) -> str:
    """Return the tool name of an action.

    Raises:
        DeclarationError: it is empty, too long or has characters that model APIs refuse.
    """
    chosen = derive_tool_name(title) if given is None else given
    if not chosen:
        msg = f"action {title!r}: its tool name is empty; give tool_name"
        raise DeclarationError(msg)
    if len(chosen) > _TOOL_NAME_LIMIT:
        msg = f"action {title!r}: tool name has {len(chosen)} characters, at most {_TOOL_NAME_LIMIT} go"
        raise DeclarationError(msg)
    if not re.fullmatch(r"[A-Za-z0-9_-]+", chosen):
        msg = f"action {title!r}: tool name {chosen!r} may have only letters, digits, '_' and '-'"
        raise DeclarationError(msg)
    return chosen


def effect_of(value: Effect | str, title: str) -> Effect:
    """Return the effect that ``value`` names; ``title`` is the action's, for the message."""
    return Effect(_known(value, [effect.value for effect in Effect], f"action {title!r}: effect"))


def trust_of(value: Trust | str, title: str) -> Trust:
    """Return the trust that ``value`` names; ``title`` is the action's, for the message."""
    if isinstance(value, Trust):
        return value
    labels = {trust.label: trust for trust in Trust}
    return labels[_known(value, labels, f"action {title!r}: output_trust")]


def _known(value: str, names: Iterable[str], where: str) -> str:
    if isinstance(value, str) and value in names:
        return value
    raise DeclarationError(f"{where} {value!r} is not known{nearest(str(value), names)}")


def _check_settings(settings: Mapping[str, Any], title: str) -> None:
    for key in settings:
        if key not in _SETTINGS:
            raise DeclarationError(f"action {title!r}: no such setting {key!r}{nearest(key, _SETTINGS)}")


def _title(function: Function) -> str:
    name = getattr(function, "__name__", "")
    if not name or name == "<lambda>":
        raise DeclarationError(f"action of {function!r}: it has no name of its own; give name=...")
    return " ".join(word[:1].upper() + word[1:] for word in name.split("_") if word)


@frozen
class _Scope:
    """The function body in which an action was declared, for hints on names that are local to it."""

    qualname: str = ""
    names: Mapping[str, Any] = field(factory=dict, repr=False)

    @classmethod
    def of(cls, frame: FrameType | None) -> _Scope:
        return cls(frame.f_code.co_qualname, dict(frame.f_locals)) if frame else cls()

    def names_for(self, function: Function) -> Mapping[str, Any]:
        """Return the local names if ``function`` was written in this body, else none."""
        home = getattr(function, "__qualname__", "").rpartition(".<locals>.")[0]
        return self.names if home and home == self.qualname else {}


def _runner(function: Function, signature: Signature) -> Callable[..., Awaitable[ActionResult]]:
    call = function if inspect.isroutine(function) else type(function).__call__
    in_loop = inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call)

    import asyncio  # late, for declaring to stay cheap

    async def run(args: Mapping[str, Json], context: ActionContext) -> ActionResult:
        loaded = _load(args, signature)
        if isinstance(loaded, ActionResult):
            return loaded
        if signature.context:
            loaded[signature.context] = context
        if in_loop:
            value = function(**loaded)
        else:
            value = await asyncio.to_thread(_in_thread, functools.partial(function, **loaded))
        if inspect.isawaitable(value):
            value = await value
        return value if isinstance(value, ActionResult) and not in_loop else to_result(await begun(value))

    return run


def _in_thread(call: Callable[[], Any]) -> Any:
    """Call and make the result in the worker thread, where draining a generator blocks nobody."""
    try:
        value = call()
    except StopIteration as error:
        # A future cannot carry StopIteration: awaiting it would never end.
        msg = "the action let StopIteration escape"
        raise RuntimeError(msg) from error
    return value if inspect.isawaitable(value) or isinstance(value, AsyncIterator) else to_result(value)


def _load(args: Mapping[str, Json], signature: Signature) -> dict[str, Any] | ActionResult:
    """Return the arguments as Python values; a class that refuses its fields is a failed result."""
    loaded: dict[str, Any] = {}
    problems: list[InvalidParam] = []
    for name, value in args.items():
        try:
            loaded[name] = signature.loaders[name](value)
        except (ValueError, TypeError, ArithmeticError) as error:
            said = error.args[0] if error.args else ""  # attrs adds the field and the value as arguments
            reason = " ".join(str(said).split())[:160]
            problems.append(InvalidParam(name, reason or type(error).__name__))
    if not problems:
        return loaded
    text = "; ".join(f"argument {problem.param!r}: {problem.reason}" for problem in problems)
    return failure("INVALID_ARGUMENT", text, ErrorRecovery(retryable=True, invalid_params=tuple(problems)))
