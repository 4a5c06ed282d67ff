"""Arguments that are taken from somewhere, and how far a result is then believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import select

import wakeful
from wakeful import ActionResult, Agent, action, hookimpl
from wakeful.store.tables import action_call
from wakeful.testing import ScriptedModel, run_turn, say
from wakeful.types import (
    Action,
    ActionError,
    Invocation,
    Judgement,
    Provenance,
    Reference,
    Referred,
    Run,
    Trust,
    canonical,
)


@action(effect="fetch")
async def web() -> ActionResult:
    """Read a page."""
    return ActionResult(outputs={"text": "from outside"}, source="https://example.org")


@action(effect="read", output_trust="trusted")
async def echo(text: str) -> str:
    """Say it again."""
    return text


class Shelf:
    name = "shelf"

    async def resolve(self, run: Run, path: str) -> Referred:
        if path == ".bad":
            raise RuntimeError("boom")
        if path == ".gone":
            raise ActionError("NO_SUCH_VALUE", "nothing is there", suggested=["shelf.book"])
        return Referred(f"read {path}", Trust.SEMI_TRUSTED, "a shelf")


class Watch:
    """Gives a reference and remembers what the judge was shown."""

    name = "watch"

    def __init__(self) -> None:
        self.seen: list[Invocation] = []

    @hookimpl
    def tool_references(self, agent: Any) -> Sequence[Reference]:
        return [Shelf()]

    @hookimpl
    def policy_verdict(
        self, run: Run, proposal: Invocation, action: Action, earlier: Sequence[Invocation]
    ) -> Judgement | None:
        self.seen.append(proposal)
        return None


def turn(*references: str, watch: Watch | None = None) -> Any:
    calls = [("echo", {"text": {"$from": text}}) for text in references]
    agent = Agent(
        model=ScriptedModel([say(calls=["web"]), say(calls=calls), "Done."]),
        actions=[web, echo],
        plugins=[watch or Watch()],
    )
    return run_turn(agent, "The first words")


def test_a_row_is_taken_with_its_trust() -> None:
    result = turn("conversation[1]", "conversation[3]")
    own, outside = result.calls[1:]
    assert own.result.outputs == {"result": "The first words"}
    assert own.result.trust is Trust.TRUSTED
    assert "from outside" in outside.result.outputs["result"]
    assert outside.result.trust is Trust.UNTRUSTED
    assert outside.result.source == "https://example.org"
    assert [row.trust for row in result.rows if row.kind == "result"][1:] == [Trust.TRUSTED, Trust.UNTRUSTED]


def test_judges_see_the_value_and_where_it_came_from() -> None:
    watch = Watch()
    result = turn("shelf.book", watch=watch)
    (seen,) = [each for each in watch.seen if each.action == "echo"]
    assert seen.args == {"text": "read .book"}
    assert seen.provenance == (Provenance("text", "shelf.book", Trust.SEMI_TRUSTED, "a shelf"),)
    assert result.calls[-1].result.trust is Trust.SEMI_TRUSTED


@pytest.mark.parametrize(
    ("reference", "code", "said"),
    [
        ("shlef.book", "INVALID_REFERENCE", "did you mean 'shelf'"),
        ("conversation[99]", "NO_SUCH_VALUE", "no text at [99]"),
        ("conversation.first", "INVALID_REFERENCE", "expected conversation[n]"),
        ("shelf.gone", "NO_SUCH_VALUE", "shelf.book"),
        ("shelf.bad", "REFERENCE_FAILED", "boom"),
        ("!", "INVALID_REFERENCE", "did you mean"),
    ],
)
def test_what_is_not_there_fails_the_call_alone(reference: str, code: str, said: str) -> None:
    result = turn(reference, "conversation[1]")
    bad, good = result.calls[1:]
    assert (bad.result.code, bad.result.success) == (code, False)
    assert said in bad.text or code == "INVALID_REFERENCE"
    assert good.result.success
    assert result.answer.text == "Done."


def test_only_a_whole_argument_is_replaced() -> None:
    model = ScriptedModel([say(calls=[("echo", {"text": 'say {"$from": "conversation[1]"}'})]), "Done."])
    result = run_turn(Agent(model=model, actions=[echo]), "Words")
    assert result.calls[0].result.outputs == {"result": 'say {"$from": "conversation[1]"}'}


async def test_where_it_came_from_is_recorded() -> None:
    calls = [("echo", {"text": {"$from": "shelf.book"}})]
    agent = Agent(model=ScriptedModel([say(calls=calls), "Done."]), actions=[echo], plugins=[Watch()])
    async with wakeful.open(agent) as app:
        await app.send("agent", "Go")
        columns = select(action_call.c.args, action_call.c.provenance)
        found = await app.store.read(lambda conn: conn.execute(columns).one())
    assert found.args == canonical({"text": "read .book"})
    assert found.provenance == canonical([["text", "shelf.book", 1, "a shelf"]])
