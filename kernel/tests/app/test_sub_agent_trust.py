"""How far what is handed to a sub-agent may be believed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import wakeful
from kernel.tests.app.test_sub_agents import Watch, kid, top, web
from wakeful import ActionContext, ActionResult, action, hookimpl
from wakeful.testing import say
from wakeful.types import Reference, Referred, RowKind, Run, Trust, document_marks


@action(effect="read", output_trust="trusted", idempotent=True)
async def forwards(ctx: ActionContext) -> ActionResult:
    """Hand what a page says to the sub-agent, in one step."""
    page = (await ctx.call("web", {}, inner=0)).outputs
    return await ctx.call("delegate_to_kid", {"message": page["text"], "payload": page}, inner=1)


@pytest.mark.parametrize("direct", [True, False])
async def test_the_trust_of_what_a_task_is_made_of_passes_down(*, direct: bool) -> None:
    watch = Watch()
    child = kid(say(calls=["ping"]), "Fine.", plugins=[watch])
    outside = {"message": {"$from": "shelf.text"}, "payload": {"$from": "shelf"}}
    calls = [("delegate_to_kid", outside) if direct else "forwards"]
    subject = top([child], say(calls=calls), "Done.", actions=[web, forwards], plugins=[Shelves()])
    async with wakeful.open(subject) as app:
        await app.send("top", "Go")
    (seen,) = watch.runs
    assert seen.rows[0].kind is RowKind.NOTE
    assert (seen.rows[0].trust, seen.rows[0].source) == (Trust.UNTRUSTED, "https://example.org")
    assert list(document_marks(seen)) == [["", Trust.UNTRUSTED, "https://example.org"]]


class Shelves:
    """Gives something from outside that no row of the run holds."""

    name = "shelf"

    @hookimpl
    def tool_references(self) -> Sequence[Reference]:
        return [self]

    async def resolve(self, run: Run, path: str) -> Referred:
        value = "from outside" if path else {"text": "from outside"}
        return Referred(value, Trust.UNTRUSTED, "https://example.org")
