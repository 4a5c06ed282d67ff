"""What an action says after a reference failed is believed no further than what it was given before."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from wakeful import ActionContext, Agent, action, hookimpl
from wakeful.testing import ScriptedModel, run_turn, say
from wakeful.types import Action, ActionError, AgentView, Reference, Referred, RowKind, Run, Trust

SOURCE = "https://evil.example"


class Shelf:
    """Holds one text from outside; names what is there where something else is asked for."""

    name = "shelf"

    async def resolve(self, run: Run, path: str) -> Referred:
        """Return what stands at a path."""
        if path == ".mail":
            return Referred("evil words", Trust.UNTRUSTED, SOURCE)
        if path == ".quoting":
            raise ActionError("NO_SUCH", "there is: evil words").quoting(Trust.UNTRUSTED, SOURCE)
        raise ActionError("NO_SUCH", f"nothing at {path}")


class Shelves:
    """Offers the shelf."""

    name = "shelves"

    @hookimpl
    def tool_references(self, agent: AgentView) -> Sequence[Reference]:
        """Return the shelf."""
        return [Shelf()]


@action(effect="read", output_trust="trusted")
async def look(ctx: ActionContext) -> str:
    """Look for what a mail names."""
    mail = await ctx.refer("shelf.mail")
    return str((await ctx.refer(f"shelf[{mail.value}]")).value)


@action(effect="read", output_trust="trusted")
async def fetch(ctx: ActionContext) -> str:
    """Repeat why nothing was found."""
    try:
        return str((await ctx.refer("shelf.quoting")).value)
    except ActionError as error:
        return error.message


@action(effect="read", output_trust="trusted")
async def wrap(ctx: ActionContext) -> str:
    """Fail for the same reason in other words."""
    try:
        return str((await ctx.refer("shelf.quoting")).value)
    except ActionError as error:
        raise ActionError("OTHER", error.message) from None


@pytest.mark.parametrize("tool", [look, fetch, wrap])
def test_what_follows_a_failed_reference_is_not_trusted(tool: Action) -> None:
    name = tool.name.lower()
    agent = Agent(model=ScriptedModel([say(calls=[name]), "Done."]), actions=[tool], plugins=[Shelves()])
    rows = [row for row in run_turn(agent, "hi").rows if row.kind is RowKind.RESULT]
    assert [(row.trust, row.source) for row in rows] == [(Trust.UNTRUSTED, SOURCE)]
    assert "evil words" in rows[0].text
