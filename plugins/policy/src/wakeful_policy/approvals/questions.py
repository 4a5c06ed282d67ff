"""Questions to people: what is asked, which answers fit, and how the answer comes back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from attrs import evolve

from wakeful import action
from wakeful.tools.arguments import check_arguments
from wakeful.types import (
    Action,
    ActionContext,
    ActionError,
    ActionResult,
    ConfigError,
    Json,
    Problem,
)

#: Tool name of the action that asks.
ASK: Final = "ask_person"
#: What may be said of a call whose outcome nobody knows.
TOOK_EFFECT, DID_NOT = "took_effect", "did_not"
OUTCOME: Final = {"type": "string", "enum": [TOOK_EFFECT, DID_NOT]}

#: Gives the answer to the question that a call asked: who, and what; None while there is none.
Find = Callable[[str], Awaitable[tuple[str, Json] | None]]


def ask_person(find: Find, owner: str) -> Action:
    """Return the action; it runs once a person has answered."""

    @action(
        effect="read",
        output_trust="trusted",
        tool_name=ASK,
        keywords=("clarify", "confirm", "human"),
    )
    async def ask_person(
        question: str,
        ctx: ActionContext,
        options: list[str] | None = None,
        schema: dict[str, Any] | None = None,
    ) -> ActionResult:
        """Ask a person something that only people can know. The answer follows; it approves nothing.

        Args:
            question: one clear question.
            ctx: the call.
            options: answers to choose from; without them any text is an answer.
            schema: JSON schema of the answer, where it is not a text.
        """
        del question, options, schema
        found = await find(ctx.key)
        if found is None:
            raise ActionError("NO_ANSWER", "nobody has answered this question", retryable=False)
        by, answer = found
        return ActionResult(outputs={"answer": answer}, message=f"{by} answered")

    return evolve(ask_person, owner=owner, asks_person=True, message_type="person-answer")


def expected(args: Mapping[str, Json]) -> dict[str, Json]:
    """Return the JSON schema of the answer to a question."""
    schema, options = args.get("schema"), args.get("options")
    if schema:
        return dict(schema)
    return {"type": "string", "enum": list(options)} if options else {"type": "string", "minLength": 1}


def heard(provenance: Sequence[Mapping[str, Json]]) -> str:
    """Return what a card says of outside text that a question may come from; empty if none was read.

    Args:
        provenance: of the question's values, see :func:`wakeful_policy.approvals.origins.origins`.
    """
    origins = [each.get("after", each) for each in provenance]
    doubtful = [each for each in origins if each.get("trust", "trusted") != "trusted"]
    found = "; ".join(dict.fromkeys(f"{each['source']}, {each['trust']}" for each in doubtful))
    return f"outside text was read before: {found}" if found else ""


def fitting(schema: Json, answer: Json) -> Json:
    """Return an answer as its schema has it.

    Raises:
        ConfigError: it does not fit; says what was expected.
        DeclarationError: the schema is none.
    """
    wrapped = {
        "type": "object",
        "properties": {"answer": schema},
        "required": ["answer"],
        "additionalProperties": False,
    }
    checked = check_arguments(Action("answer", "", wrapped, _nothing), {"answer": answer})
    if isinstance(checked, ActionResult):
        raise ConfigError([Problem("answer", checked.message.removeprefix("answer was not run: "))])
    return checked["answer"]


async def _nothing(args: Mapping[str, Json], ctx: ActionContext) -> ActionResult:
    del args, ctx
    return ActionResult()
