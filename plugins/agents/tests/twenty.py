"""The agent that runs the flow of twenty steps, with every effect written down."""

from __future__ import annotations

import asyncio
from pathlib import Path

from attrs import define, field

from tests.durability.world import Effects
from wakeful import ActionContext, ActionError, ActionResult, Agent, action
from wakeful.types import Action, Emit, Limits, Profile, Reply, Request, Text, Usage

#: Rows of the loop.
ROWS = 1_000
FLOW = Path(__file__).parent / "twenty.toml"


@define(eq=False)
class Says:
    """Says one thing, and counts how often it was asked."""

    text: str
    asked: int = field(default=0, init=False)
    profile: Profile = Profile("says")

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        self.asked += 1
        await asyncio.sleep(0)
        return Reply((Text("assistant", self.text),), Usage(uncached=1, output=1))


def actions(effects: Effects | None = None) -> tuple[Action, ...]:
    """Return the flow's actions; those that take effect write down that they did."""

    def took(name: str, ctx: ActionContext) -> None:
        if effects is not None:
            effects.add(name, ctx.key)

    @action(effect="read", output_trust="trusted")
    async def table(rows: int) -> list[dict[str, int]]:
        """Give a table."""
        return [{"z": number} for number in range(rows)]

    @action(effect="write", output_trust="trusted", idempotent=True)
    async def touch(number: int, place: int) -> int:
        """Touch a row."""
        assert number == place
        return number

    @action(effect="write", output_trust="trusted", idempotent=True)
    async def note(text: str, ctx: ActionContext) -> str:
        """Write something down."""
        took("note", ctx)
        return text

    @action(effect="fetch")
    async def fetch() -> ActionResult:
        """Read a page."""
        return ActionResult(outputs={"result": "a page"}, source="https://example.org")

    @action(effect="read", output_trust="trusted")
    async def fail() -> str:
        """Fail."""
        raise ActionError("NO_LUCK", "it never works")

    @action(effect="external", output_trust="trusted")
    async def pay(euros: int, ctx: ActionContext) -> str:
        """Pay, once."""
        took("pay", ctx)
        return f"paid {euros}"

    return (table, touch, note, fetch, fail, pay)


def answer(rows: int = ROWS) -> str:
    """Return what the flow answers."""
    return f"In short. ({rows} rows, Checked.)"


def flow(folder: Path, rows: int) -> str:
    """Write the flow with another number of rows; return the file's name."""
    path = folder / f"flow{rows}.toml"
    path.write_text(FLOW.read_text(encoding="utf-8").replace(str(ROWS), str(rows)), encoding="utf-8")
    return str(path)


def agent(
    store: str, effects: Effects | None = None, model: Says | None = None, file: str = str(FLOW)
) -> Agent:
    """Return the agent with its sub-agent."""
    return Agent(
        model=model or Says("In short."),
        actions=actions(effects),
        plugins=["flow", "payload"],
        settings={"flow": {"file": file}},
        type="flow",
        limits=Limits(steps=100),
        sub_agents=[Agent(model=Says("Checked."), name="checker")],
        store=store,
    )
