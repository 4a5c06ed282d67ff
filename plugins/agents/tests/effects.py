"""Actions of every effect, and what of them took place."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from wakeful import Agent, action
from wakeful.testing import ScriptedModel, TurnResult
from wakeful.testing import run_turn as turn_of
from wakeful.types import Request

did: list[str] = []


@action(effect="read", output_trust="trusted")
async def look() -> str:
    """Look."""
    return "seen"


@action(effect="write", output_trust="trusted")
async def write(text: str = "") -> str:
    """Write."""
    did.append("write")
    return text


@action(effect="fetch", output_trust="trusted")
async def web() -> str:
    """Fetch."""
    did.append("web")
    return "page"


@action(effect="external", output_trust="trusted")
async def mail() -> str:
    """Send."""
    did.append("mail")
    return "sent"


@action(effect="read", output_trust="trusted", external_if_present=["to"])
async def share(to: str = "") -> str:
    """Show, or send to somebody."""
    did.append(f"share {to}")
    return "shared"


ALL = [look, write, web, mail, share]
#: Calls that take effect, one of each kind.
EFFECTS: list[Any] = ["write", "web", "mail", ("share", {"to": "x"})]


def run_turn(subject: Agent, *texts: str, **of: Any) -> TurnResult:
    """Run turns; the requests are those of the agent's own model."""
    result = turn_of(subject, *texts, **of)
    assert isinstance(subject.model, ScriptedModel)
    return evolve(result, requests=tuple(subject.model.requests))


def prefix(request: Request) -> Any:
    """Return what must not change while an epoch lasts."""
    return [tool.spelling for tool in request.tools], request.system
