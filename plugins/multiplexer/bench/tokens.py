"""Tokens of declarations with and without the plugin, and of the answers of a search.

    python plugins/multiplexer/bench/tokens.py FOLDER

FOLDER holds ``tools_mcp.json`` and ``tool_queries.json``, see ``ranking.py``. Counted with o200k_base
(``bpe-openai``), for agents of 26 and of 120 tools drawn 50 times, five of which stay declared.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bpe_openai  # type: ignore[import-untyped]  # it brings none
from adapter import action_of
from attrs import evolve

from wakeful.results import PlainEnvelope, render
from wakeful.tools.offer import PlainOffer
from wakeful.types import Action, AgentView, Limits, Profile, Tool
from wakeful_multiplexer.offer import MultiplexedOffer
from wakeful_multiplexer.settings import MultiplexerSettings

_TABLE = bpe_openai.get_encoding("o200k_base")
#: Draws of each size, and the seed of all of them.
DRAWS, SEED = 50, 3


def count(value: object) -> int:
    """Return the tokens of a text, or of a value as compact JSON."""
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return len(_TABLE.encode(text))


def cost(tools: Iterable[Tool]) -> int:
    """Return the tokens of the declarations that stand in the prompt."""
    return sum(
        count({"type": "function", "name": t.name, "description": t.description, "parameters": t.schema})
        for t in tools
        if not t.deferred
    )


def unique(tools: Iterable[Mapping[str, Any]]) -> list[Action]:
    """Return actions whose tool names differ: tools of one name get their server's in front."""
    made: dict[str, Action] = {}
    for tool in tools:
        action = action_of(tool)
        name = action.tool_name
        if name in made:
            name = f"{tool['server'].replace('-', '_')}_{name}"[:64]
        made[name] = evolve(action, tool_name=name)
    return list(made.values())


def declarations(drawn: list[Action], backend: str) -> tuple[int, int]:
    """Return tokens of what is declared, and of the section that names the hidden actions."""
    view = AgentView("a", "m", Profile("m", tool_search=backend == "provider"), Limits())
    actions = {action.tool_name: action for action in drawn}
    if backend == "none":
        return cost(PlainOffer().open(actions, view).tools), 0
    services: Any = SimpleNamespace(report=print)
    offer = MultiplexedOffer(MultiplexerSettings(mode="always", backend=backend), services)  # type: ignore[arg-type]  # only what it asks for
    own = {action.tool_name: action for action in offer.actions()}
    offered = offer.open({**actions, **own}, view)
    return cost(offered.tools), sum(count(section.text) for section in offered.sections)


def draws(actions: list[Action]) -> dict[str, object]:
    """Return mean figures by number of tools and backend."""
    chance = random.Random(SEED)  # noqa: S311  (the same draws every time)
    found: dict[str, object] = {}
    for number in (26, 120):
        drawn = [chance.sample(actions, number) for _ in range(DRAWS)]
        everything = statistics.mean(declarations(each, "none")[0] for each in drawn)
        found[f"{number} tools, all declared"] = round(everything)
        for backend in ("tools", "provider"):
            figures = [declarations(each, backend) for each in drawn]
            tools = statistics.mean(tools for tools, _ in figures)
            names = statistics.mean(names for _, names in figures)
            found[f"{number} tools, {backend}"] = {
                "declarations": round(tools),
                "saved": f"{1 - tools / everything:.1%}",
                "names in the prompt": round(names),
                "saved with names counted": f"{1 - (tools + names) / everything:.1%}",
            }
    return found


async def answers(actions: list[Action], queries: list[str]) -> dict[str, object]:
    """Return tokens of the rendered answers of a search over all tools."""
    services: Any = SimpleNamespace(report=print)
    (search,) = MultiplexedOffer(MultiplexerSettings(), services).actions()
    known = {action.tool_name: action for action in actions}
    declared = SimpleNamespace(declared=SimpleNamespace(tools=()))
    ctx: Any = SimpleNamespace(
        run=SimpleNamespace(epoch=declared, turn=1),
        services=SimpleNamespace(catalogue=lambda _: known),
        put=lambda *_: None,
    )
    sizes = []
    for query in queries:
        result = await search.run({"queries": [query], "limit": 10}, ctx)
        text = render(search.name, evolve(result, trust=search.output_trust), PlainEnvelope(), "")
        sizes.append(count(text))
    sizes.sort()
    at = int(0.95 * len(sizes))
    return {"answers": len(sizes), "mean": round(statistics.mean(sizes)), "p95": sizes[at], "max": sizes[-1]}


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    actions = unique(json.loads((folder / "tools_mcp.json").read_text("utf-8"))["tools"])
    queries = json.loads((folder / "tool_queries.json").read_text("utf-8"))["queries"]
    typed = [query["q"] for query in queries if query["kind"] == "agent"]
    report = draws(actions) | {"tokens of an answer": asyncio.run(answers(actions, typed))}
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
