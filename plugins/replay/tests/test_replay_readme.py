"""The examples of the README do what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from wakeful.types import Stop, Text

README = Path(__file__).parents[1] / "README.md"


async def test_the_script_of_the_readme_plays(bench: Any, ask: Any, answered: Any) -> None:
    (script,) = re.findall(r"```jsonl\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    bench.write("hello.jsonl", script)
    model = bench.bind("hello.jsonl")
    first = await model.complete(ask("Who owes us?"), "c")
    second = await model.complete(ask("Who owes us?", *answered(first)), "c")
    third = await model.complete(ask("Who owes us?", *answered(first), *second.items, "More"), "c")
    assert (first.stop, second.stop, third.stop) == (Stop.CALLS, Stop.END, Stop.LENGTH)
    assert second.items[-1] == Text("assistant", "Ada owes us 12 euros.")
    assert second.usage.cost == 0.0004
