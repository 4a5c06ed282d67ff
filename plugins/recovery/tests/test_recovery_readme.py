"""The example of the README does what it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wakeful import Agent
from wakeful.testing import TurnResult, say

README = Path(__file__).parents[1] / "README.md"


def test_the_action_of_the_readme_teaches(run_turn: Callable[..., TurnResult]) -> None:
    text = README.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "shop"}
    exec(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0], names)  # noqa: S102  (our own page)
    agent = Agent(model="", actions=[names["price"]], plugins=["recovery"])
    replies = [say(calls=[("price", {"item": item})]) for item in ("lamp", "blue lamp")]
    ended = run_turn(agent, "How much?", replies=[*replies, "30."]).calls
    assert ended[0].text == re.findall(r"```text\n(.*?)\n```", text, re.DOTALL)[0]
    assert ended[1].result.outputs == {"result": 30}
