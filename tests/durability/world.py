"""The run that is killed: a scripted model without memory, actions whose every effect is written down."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import define

from tests.durability.people import desk
from wakeful import ActionContext, ActionResult, Agent, action
from wakeful.types import Action, Call, Emit, Item, Profile, Reply, Request, Stop, Text, Usage, canonical

CONVERSATION = "thread"
#: How a late result begins; from it the model knows that a person has decided.
DECIDED = "A person decided"
WAITING = "I wait."
FINAL = "All is done."

Wanted = tuple[str, Mapping[str, int]]


@define(eq=False)
class Effects:
    """The world outside the database: a file that every effect appends a line to."""

    path: Path

    def add(self, name: str, key: str) -> None:
        """Let an effect happen, for good."""
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, canonical({"action": name, "key": key}).encode() + b"\n")
            os.fsync(file)
        finally:
            os.close(file)

    def counts(self) -> Counter[tuple[str, str]]:
        """Return how often each call took effect, by action and key."""
        if not self.path.exists():
            return Counter()
        lines = map(json.loads, self.path.read_text("utf-8").splitlines())
        return Counter((line["action"], line["key"]) for line in lines)


def token(key: str) -> str:
    """Return what the result of a call says, so that it is found again in the transcript."""
    return f"<done {key}>"


def actions(effects: Effects) -> tuple[Action, ...]:
    """Return one action of each kind; ``pay`` must never run twice."""

    async def act(name: str, ctx: ActionContext) -> ActionResult:
        await asyncio.sleep(0)
        effects.add(name, ctx.key)
        await asyncio.sleep(0)
        ctx.put(ctx.key, name)
        return ActionResult(message=token(ctx.key))

    @action(effect="read", output_trust="trusted")
    async def look(ctx: ActionContext) -> ActionResult:
        """Look."""
        return await act("look", ctx)

    @action(effect="fetch")
    async def web(ctx: ActionContext) -> ActionResult:
        """Read a page."""
        return await act("web", ctx)

    @action(effect="write", output_trust="trusted", idempotent=True)
    async def note(ctx: ActionContext) -> ActionResult:
        """Write the same note, however often."""
        return await act("note", ctx)

    @action(effect="write", output_trust="trusted")
    async def pay(euros: int, ctx: ActionContext) -> ActionResult:
        """Pay. The desk holds more than 50 for a person.

        Args:
            euros: how much.
            ctx: the call.
        """
        return await act("pay", ctx)

    return (look, web, note, pay)


#: Six replies: parallel calls of every kind, one held for a person, then what follows the decision.
STEPS: tuple[tuple[Wanted, ...], ...] = (
    (("look", {}), ("web", {})),
    (("pay", {"euros": 1}), ("note", {}), ("look", {})),
    (("pay", {"euros": 100}), ("pay", {"euros": 2}), ("note", {})),
    (),  # waits for the person
    (("note", {}), ("pay", {"euros": 3}), ("web", {})),
    (),  # the end
)
WAITS = 4


@define(eq=False)
class Memoryless:
    """Answers from the request alone, so that any process may ask it, however often."""

    profile: Profile = Profile("memoryless")

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        """Give the reply that follows the last one in the request."""
        await asyncio.sleep(0)
        return reply_to(request.items)


def reply_to(items: Sequence[Item]) -> Reply:
    """Return the next reply after what a request holds."""
    known = {int(item.id.split("_")[1]) for item in items if isinstance(item, Call)}
    decided = any(isinstance(item, Text) and item.text.startswith(DECIDED) for item in items)
    step = max(known, default=0) + 1
    if step == WAITS and decided:
        step += 1
    wanted = STEPS[step - 1]
    usage = Usage(uncached=100, output=10)
    if not wanted:
        return Reply((Text("assistant", WAITING if step == WAITS else FINAL),), usage)
    calls = [Call(f"call_{step}_{place}", name, canonical(args)) for place, (name, args) in enumerate(wanted)]
    return Reply((Text("assistant", f"Step {step}."), *calls), usage, Stop.CALLS)


def agent(url: str, effects: Effects) -> Agent:
    """Return the agent over a database and a world."""
    return Agent(model=Memoryless(), actions=actions(effects), store=url, **desk())
