"""Summaries are asked of the model that the agent names for what plugins ask by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import select

import wakeful
from tests.cli import Console
from wakeful import Agent, action
from wakeful.store.tables import model_call
from wakeful.types import Expiration

CHEAP = "anthropic:claude-haiku-4-5"


@action(effect="read", output_trust="trusted", expiration=Expiration(0, "compact", "summary", 300))
async def read_contract() -> str:
    """Read the contract."""
    return "clause " * 400


async def test_a_summary_is_written_by_the_side_model(wire: Any, tmp_path: Path) -> None:
    read = {"calls": [{"tool": "read_contract", "args": {}}]}
    wire.play([read, "Read.", "It has clauses.", "Second turn."])
    settings = {"anthropic": {"api_key": "k", "base_url": wire.anthropic_url}}
    agent = Agent(
        model="anthropic:claude-sonnet-5",
        side_model=CHEAP,
        actions=[read_contract],
        plugins=["lifecycle"],
        settings=settings,
        store=f"sqlite:///{tmp_path / 'wakeful.db'}",
    )
    async with wakeful.open(agent) as app:
        for text in ("Read it", "And now?"):
            answer = await app.send("agent", text, conversation="c-1")
        calls = select(model_call.c.kind, model_call.c.model).order_by(model_call.c.id)
        rows = await app.store.read(lambda conn: [tuple(row) for row in conn.execute(calls)])
    assert answer.text == "Second turn."
    asked = [request["model"] for request in wire.requests]
    assert asked == ["claude-sonnet-5"] * 2 + ["claude-haiku-4-5", "claude-sonnet-5"]
    last = wire.requests[-1]
    assert "It has clauses." in str(last)
    assert "clause clause" not in str(last)
    kinds = [kind for kind, _ in rows]
    assert kinds == ["step", "step", "lifecycle-summary", "step"]
    assert "haiku" in rows[2][1]
    assert not any("haiku" in model for kind, model in rows if kind == "step")


FILE = """
[agents.desk]
model = "anthropic:claude-sonnet-5"
side_model = "{side}"

[plugins.anthropic]
api_key = "k"
"""


def test_doctor_shows_the_side_model_and_what_is_wrong_with_it(tmp_path: Path) -> None:
    console = Console(tmp_path)
    console.write("wakeful.toml", FILE.format(side=CHEAP))
    assert CHEAP in console.run("doctor").out
    for side, said in {
        "haiku": 'agents.desk.side_model: expected "scheme:name", got the string "haiku"',
        "antropic:claude-haiku-4-5": "agents.desk.side_model: ",
    }.items():
        console.write("wakeful.toml", FILE.format(side=side))
        done = console.run("doctor")
        assert said in done.out + done.err
        assert done.code != 0
    assert "anthropic" in done.out + done.err
