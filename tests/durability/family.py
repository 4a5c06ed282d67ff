"""A run with three sub-agents at once: one has to ask a person, one is killed, one is cancelled."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import define

from tests.durability.world import Effects
from tests.toys import Desk
from wakeful import ActionContext, ActionResult, Agent, action
from wakeful.types import (
    Action,
    Call,
    Emit,
    Item,
    Profile,
    Reply,
    Request,
    Result,
    Stop,
    Text,
    Usage,
    canonical,
)

CONVERSATION = "family"
KIDS = ("asks", "falls", "stops")
ANSWERED = "The sub-agent answered"
FINAL = "All have answered."


@define(eq=False)
class Speaks:
    """Answers from the request alone: calls first, then words for what came of them.

    Args:
        calls: of the first step.
        waits, done: what is said before and after somebody has decided; the same if nobody has to.
    """

    calls: Sequence[tuple[str, Mapping[str, object]]]
    waits: str
    done: str
    profile: Profile = Profile("speaks")

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        """Give the next reply."""
        await asyncio.sleep(0)
        usage = Usage(uncached=10, output=1)
        if not any(isinstance(item, Result) for item in request.items):
            calls = [
                Call(f"c{place}", name, canonical(args)) for place, (name, args) in enumerate(self.calls)
            ]
            return Reply(tuple(calls), usage, Stop.CALLS)
        return Reply((Text("assistant", self.done if _late(request.items) else self.waits),), usage)


def _late(items: Sequence[Item]) -> bool:
    starts = (ANSWERED, "A person decided")
    return any(isinstance(item, Text) and item.text.startswith(starts) for item in items)


def actions(effects: Effects, fatal: Path) -> tuple[Action, ...]:
    """Return what the sub-agents do; ``fall`` kills the process, once; ``stop`` never ends."""

    @action(effect="write", output_trust="trusted")
    async def pay(euros: int, ctx: ActionContext) -> ActionResult:
        """Pay. The desk holds more than 50 for a person."""
        effects.add("pay", ctx.key)
        return ActionResult(message="paid")

    @action(effect="fetch")
    async def fall(ctx: ActionContext) -> ActionResult:
        """Fall, if nobody has fallen yet."""
        effects.add("fall", ctx.key)
        while not fatal.exists():  # noqa: ASYNC110  (another process says when the others have come so far)
            await asyncio.sleep(0.01)
        if fatal.read_text() == "armed":
            fatal.write_text("fired")
            os.kill(os.getpid(), signal.SIGKILL)
        return ActionResult(message="stood up", source="https://example.org")

    @action(effect="read", output_trust="trusted")
    async def stop() -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return "never"

    return (pay, fall, stop)


def family(url: str, effects: Effects, fatal: Path) -> Agent:
    """Return the agent with its three sub-agents."""
    pay, fall, stop = actions(effects, fatal)
    kids = [
        Agent(
            model=Speaks([("pay", {"euros": 100})], "It is held.", "It is paid."),
            name="asks",
            actions=[pay],
            plugins=[Desk],
        ),
        Agent(model=Speaks([("fall", {})], "I stood up.", ""), name="falls", actions=[fall]),
        Agent(model=Speaks([("stop", {})], "", ""), name="stops", actions=[stop]),
    ]
    args = {"message": "Go", "payload": {"n": 1}}
    calls = [(f"delegate_to_{name}", args) for name in KIDS]
    return Agent(model=Speaks(calls, "I wait.", FINAL), name="top", sub_agents=kids, store=url)
