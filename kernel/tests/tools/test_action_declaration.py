from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import pytest

from wakeful import Action, ActionResult, Param, action
from wakeful.types import Effect, Json, ResultCode, Trust

if TYPE_CHECKING:
    from wakeful import ActionContext

NOBODY: Any = None
request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="")


async def run(declared: Action, context: Any = NOBODY, **args: Json) -> ActionResult:
    return await declared.run(args, context)


async def test_a_bare_decorator_takes_name_text_and_schema_from_the_function() -> None:
    @action
    async def overdue_invoices(days: int = 30) -> int:
        """List invoices that are overdue.

        Call it before
        writing to a customer.

        Args:
            days: how many days overdue,
                at least.

        Returns:
            How many there are.
        """
        return days

    assert overdue_invoices.name == "Overdue Invoices"
    assert overdue_invoices.tool_name == "overdue_invoices"
    assert overdue_invoices.description.startswith(
        "List invoices that are overdue.\n\nCall it before writing to a customer.\n\nReturns:"
    )
    assert overdue_invoices.schema == {
        "type": "object",
        "properties": {
            "days": {"type": "integer", "default": 30, "description": "how many days overdue, at least."}
        },
        "required": [],
        "additionalProperties": False,
    }
    assert (await run(overdue_invoices, days=3)).outputs == {"result": 3}
    assert (await run(overdue_invoices)).outputs == {"result": 30}


def test_silence_is_strict() -> None:
    @action
    def anything() -> None: ...

    assert anything.effect is Effect.EXTERNAL
    assert anything.output_trust is Trust.UNTRUSTED
    assert not anything.reruns
    assert anything.schema["properties"] == {}


def test_every_field_can_be_declared() -> None:
    @action(
        "Pay",
        effect="write",
        output_trust="semi_trusted",
        description="Pay an invoice.",
        idempotent=True,
        can_stage=True,
        external_if_present=["to"],
        result_codes=[
            "SUCCESS",
            "NO_CHANGES",
            "Completed",
            "SUCCESS_SAVED",
            "FAILED",
            ResultCode("X", success=True),
        ],
        keywords=["money"],
        category="finance",
        tier=2,
        pinned=True,
        timeout_s=5,
        max_executions=3,
        tool_name="pay-now",
    )
    def pay(to: Annotated[str, Param("who is paid", role="destination", format="email")]) -> None: ...

    assert (pay.name, pay.tool_name, pay.description) == ("Pay", "pay-now", "Pay an invoice.")
    assert (pay.effect, pay.output_trust) == (Effect.WRITE, Trust.SEMI_TRUSTED)
    assert pay.roles == {"to": "destination"}
    assert pay.schema["properties"]["to"] == {
        "type": "string",
        "format": "email",
        "description": "who is paid",
    }
    assert [code.success for code in pay.result_codes] == [True, True, True, True, False, True]
    assert (pay.tier, pay.pinned, pay.timeout_s, pay.max_executions) == (2, True, 5, 3)


def test_annotated_text_wins_over_the_docstring() -> None:
    @action
    def look(first: Annotated[str, "from the hint"], second: str) -> None:
        """Look.

        Args:
            first: from the docstring
            second: from the docstring
        """

    texts = {param.name: param.description for param in look.params}
    assert texts == {"first": "from the hint", "second": "from the docstring"}


async def test_a_plain_function_runs_in_a_thread_with_the_callers_context() -> None:
    @action
    def where() -> dict[str, str]:
        return {"thread": threading.current_thread().name, "request": request_id.get()}

    request_id.set("r-1")
    found = (await run(where)).outputs["result"]
    assert found["request"] == "r-1"
    assert found["thread"] != threading.current_thread().name


async def test_a_slow_plain_function_does_not_hold_up_the_loop() -> None:
    released = threading.Event()

    @action
    def wait() -> bool:
        return released.wait(10)

    task = asyncio.create_task(run(wait))
    await asyncio.sleep(0)
    released.set()
    assert (await task).outputs == {"result": True}


async def test_the_context_is_filled_in_and_not_declared() -> None:
    @action
    async def who(name: str, context: ActionContext | None = None) -> str:
        return f"{name} {context.key if context else ''}"

    @action
    async def what(context: ActionContext) -> str:
        return context.key

    @attrs.frozen
    class Context:
        key: str = "run-1/1/0"

    assert list(who.schema["properties"]) == ["name"]
    assert list(what.schema["properties"]) == []
    assert (await run(what, Context())).outputs["result"] == "run-1/1/0"
    assert (await run(who, Context(), name="ana")).outputs["result"] == "ana run-1/1/0"


async def test_local_classes_and_methods_can_be_declared() -> None:
    @attrs.frozen
    class Line:
        sku: str
        other: Part | None = None

    @attrs.frozen
    class Part:
        weight: float

    @action(effect="read")
    async def add(lines: list[Line]) -> list[str]:
        return [f"{line.sku}:{line.other.weight if line.other else 0}" for line in lines]

    class Shop:
        prefix = "shop"

        def find(self, word: str) -> str:
            """Find goods."""
            return f"{self.prefix} {word}"

        async def find_later(self, word: str) -> str:
            return f"{self.prefix} {word} later"

    result = await run(add, lines=[{"sku": "a", "other": {"weight": 2}}, {"sku": "b"}])
    assert result.outputs["result"] == ["a:2.0", "b:0"]
    find = action(effect="read")(Shop().find)
    assert (find.name, find.description, list(find.schema["properties"])) == ("Find", "Find goods.", ["word"])
    assert (await run(find, word="x")).outputs["result"] == "shop x"
    assert (await run(action(Shop().find_later), word="x")).outputs["result"] == "shop x later"


async def test_generators_of_either_kind_give_their_items() -> None:
    @action
    def rows() -> Iterator[dict[str, int]]:
        yield from ({"n": number} for number in range(3))

    @action
    async def later() -> AsyncIterator[int]:
        yield 1
        yield 2

    assert (await run(rows)).message == "3 rows, columns: n"
    assert (await run(later)).outputs["result"] == [1, 2]


async def test_an_escaping_stop_iteration_is_an_error_and_not_a_hang() -> None:
    @action
    def first() -> int:
        return next(iter(()))

    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(run(first), 10)


async def test_a_class_that_refuses_its_values_is_a_failed_result_naming_the_argument() -> None:
    @attrs.frozen
    class Period:
        days: int = attrs.field(validator=attrs.validators.ge(1))

    @action
    def report(period: Period) -> None: ...

    result = await run(report, period={"days": 0})
    assert (result.success, result.code) == (False, "INVALID_ARGUMENT")
    assert result.recovery is not None
    assert result.recovery.invalid_params[0].param == "period"


async def test_the_reason_is_the_sentence_and_not_the_arguments_of_the_exception() -> None:
    @attrs.frozen
    class Box:
        word: str = attrs.field(validator=attrs.validators.max_len(3))

    @action
    def pack(box: Box) -> None: ...

    result = await run(pack, box={"word": "long"})
    assert "Length of 'word' must be <= 3" in result.message
    assert "attr.Attribute" not in result.message


async def test_errors_of_the_action_reach_the_caller() -> None:
    @action
    def fail() -> None:
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        await run(fail)
