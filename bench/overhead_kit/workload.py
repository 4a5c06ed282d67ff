"""Sixty tools and a conversation of twelve turns with three steps each, the same every time."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path
from typing import Any

from attrs import frozen

DOMAINS = ("orders", "people", "invoices", "tickets", "stock", "routes", "leads", "sites", "claims", "audits")
VERBS = ("search", "get", "create", "update", "report", "export")
FIELDS = (
    ("query", "string", "Words that must occur, in any order; quote a phrase to keep it together."),
    ("limit", "integer", "Most entries to return; fewer are returned when fewer match."),
    ("since", "string", "Only entries changed on or after this day, as year-month-day."),
    ("until", "string", "Only entries changed on or before this day, as year-month-day."),
    ("owner", "string", "Mail address of the person responsible for the entry."),
    ("archived", "boolean", "Whether archived entries count as well as current ones."),
    ("sort", "string", "Field to sort by; a leading minus sign turns the order around."),
    ("amount", "number", "Value in the currency of the account, without separators."),
    ("labels", "array", "Labels that an entry must carry, all of them at once."),
    ("note", "string", "Free text that is kept with the change for whoever checks it later."),
)
TURNS = 12
STEPS = 3
SEED = 20


@frozen
class Workload:
    """Tools as (name, description, schema), what the scripted model says, and the question of a turn."""

    tools: list[dict[str, Any]]
    scenario: dict[str, Any]
    turns: int = TURNS
    steps: int = STEPS

    def question(self, turn: int, mark: str) -> str:
        """Return what the user says in a turn; the first one names the conversation to the server."""
        text = f"Please see to part {turn + 1} of the weekly review and say what stands out."
        return f"[[conv:{mark}]] {text}" if turn == 0 else text


def own() -> Workload:
    """Return the workload of this repository."""
    rng = random.Random(SEED)  # noqa: S311  (a fixed workload, no secret)
    tools = [_tool(rng, domain, verb) for domain in DOMAINS for verb in VERBS]
    replies: list[dict[str, Any]] = []
    for turn in range(TURNS):
        for step in range(STEPS - 1):
            name = tools[(turn * 7 + step * 3) % len(tools)]["name"]
            replies.append(
                {"text": f"Looking at {name}.", "calls": [{"tool": name, "args": {"query": "open"}}]}
            )
        replies.append({"text": f"Part {turn + 1} is in order; nothing stands out."})
    return Workload(tools, {"name": "overhead", "replies": replies})


def of_peers(folder: Path) -> Workload:
    """Return the workload that the peers in ``folder`` run, so that all rows are comparable."""
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True  # the folder may be somebody else's
    module = importlib.import_module("workload")
    return Workload(module.tools(), module.scenario())


def _tool(rng: random.Random, domain: str, verb: str) -> dict[str, Any]:
    chosen = [FIELDS[0], *rng.sample(FIELDS[1:], 8)]
    properties: dict[str, Any] = {}
    for name, kind, text in chosen:
        items = {"items": {"type": "string"}} if kind == "array" else {}
        properties[name] = {"type": kind, "description": text, **items}
    return {
        "name": f"{domain}_{verb}",
        "description": f"{verb.capitalize()} entries of {domain}. Returns the entries concerned, one a line.",
        "schema": {"type": "object", "properties": properties, "required": ["query"]},
    }
