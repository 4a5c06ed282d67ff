"""Ask an agent that is written in Python, and print what happens."""

from __future__ import annotations

import asyncio
from pathlib import Path

import wakeful
from wakeful import action


@action(effect="read", output_trust="trusted")
def opening_hours(day: str) -> str:
    """Say when the shop is open.

    Args:
        day: an English weekday.
    """
    return "closed" if day.lower() == "sunday" else "9 to 17"


async def main() -> None:
    """Send two messages to one conversation."""
    agent = wakeful.Agent(
        name="shop",
        model="replay:hours.jsonl",
        instructions="You answer customers.",
        actions=[opening_hours],
        folder=Path(__file__).parent,
    )
    async with wakeful.open(agent) as app:
        async for event in app.stream("shop", "Are you open on Sunday?", conversation="c-1"):
            print(type(event).__name__)
        answer = await app.send("shop", "Thanks!", conversation="c-1")
        print(answer.text)


if __name__ == "__main__":
    asyncio.run(main())
