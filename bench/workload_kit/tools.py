"""Sixty tools of about 340 tokens, and what they answer. Everything follows from one seed."""

from __future__ import annotations

import json
import random
from typing import Any

SEED = 20261129

DOMAINS = {
    "crm": "customer records",
    "mail": "the shared mailbox",
    "calendar": "team calendars",
    "docs": "the document store",
    "billing": "invoices and payments",
    "people": "the staff directory",
    "metrics": "the metrics warehouse",
    "web": "public web pages",
    "tasks": "the task board",
    "files": "the file share",
    "support": "support tickets",
    "deploy": "release pipelines",
}
VERBS = {
    "search": "Finds entries in {0} that match every filter given and returns them newest first.",
    "get": "Reads one entry of {0} with all of its fields and the names of the entries linked to it.",
    "create": "Adds an entry to {0} and returns its identifier once it has been stored.",
    "update": "Changes fields of one entry in {0}; fields that are not named keep their value.",
    "report": "Summarises {0} over a period, grouped and sorted as asked.",
}
PARAMS = [
    ("query", "string", "Words to look for; quotes keep a phrase together."),
    ("entry_id", "string", "Identifier as returned by an earlier call, for example {p}-1042."),
    ("owner_email", "string", "Limit to entries whose owner has this address."),
    ("status", "enum", "Only entries in this state."),
    ("since", "date", "Earliest day to include, as YYYY-MM-DD."),
    ("until", "date", "Latest day to include, as YYYY-MM-DD."),
    ("limit", "integer", "Most entries to return; larger values are slower."),
    ("fields", "array", "Names of the fields to return; leave out for all of them."),
    ("region", "enum2", "Sales region the entry belongs to."),
    ("priority", "enum3", "How urgent the entry is."),
    ("include_archived", "boolean", "Whether archived entries count as well."),
    ("sort_by", "string", "Field to sort on; prefix with a minus sign for descending order."),
    ("note", "string", "Free text kept with the change for the audit trail."),
    ("amount", "number", "Value in the account's currency, without thousands separators."),
    ("tags", "array", "Labels that must all be present on the entry."),
    ("group_by", "string", "Field whose values form the groups of the result."),
]
_KINDS: dict[str, dict[str, Any]] = {
    "enum": {"type": "string", "enum": ["open", "waiting", "done", "cancelled"]},
    "enum2": {"type": "string", "enum": ["EMEA", "AMER", "APAC", "LATAM"]},
    "enum3": {"type": "string", "enum": ["low", "normal", "high", "critical"]},
    "array": {"type": "array", "items": {"type": "string"}},
    "date": {"type": "string", "format": "date"},
    "integer": {"type": "integer", "minimum": 1, "maximum": 500},
}
#: The three calls with large answers.
TABLE = ("crm_search", {"query": "Q3 pipeline", "limit": 150})
PAGE = ("web_get", {"entry_id": "https://example.com/pricing"})
TREE = ("crm_update", {"entry_id": "graph:crm-1042"})


def tools() -> list[dict[str, Any]]:
    """Return the tools as ``{name, description, schema}``."""
    rng = random.Random(SEED)  # noqa: S311  (the same tools in every run)
    return [_tool(rng, domain, verb) for domain in DOMAINS for verb in VERBS]


def _tool(rng: random.Random, domain: str, verb: str) -> dict[str, Any]:
    what = DOMAINS[domain]
    chosen = [PARAMS[0 if verb in {"search", "report"} else 1], *rng.sample(PARAMS[2:], 9)]
    properties = {
        name: {"description": about.format(p=domain), **_KINDS.get(kind, {"type": kind})}
        for name, kind, about in chosen
    }
    description = VERBS[verb].format(what) + (
        f" Use it when the question is about {what} and names a person, a period or a state. It answers with "
        f"SUCCESS and the entries, NOT_FOUND when nothing matches, FORBIDDEN when the caller may not see"
        f" {what}, or INVALID_INPUT with the name of the field at fault."
    )
    schema = {
        "type": "object",
        "properties": properties,
        "required": [chosen[0][0]],
        "additionalProperties": False,
    }
    return {"name": f"{domain}_{verb}", "description": description, "schema": schema}


def answer(tool: str, args: dict[str, Any]) -> Any:
    """Return what a tool answers: a list of records, a page or a tree; follows from name and arguments."""
    key = json.dumps([tool, args], sort_keys=True)
    rng = random.Random(f"{SEED}{key}")  # noqa: S311  (no secret)
    if tool == TABLE[0] and args.get("limit") == TABLE[1]["limit"]:
        return [_row(rng, place) for place in range(150)]
    if tool == PAGE[0]:
        return _page(rng)
    if tool == TREE[0] and str(args.get("entry_id", "")).startswith("graph:"):
        return _tree(rng, 4)
    return [_row(rng, place) for place in range(rng.randint(1, 4))]


def _row(rng: random.Random, place: int) -> dict[str, Any]:
    name = rng.choice(["Northwind", "Halden", "Osprey", "Kestrel", "Lumen"])
    return {
        "id": f"crm-{1000 + place}",
        "account": f"{name} {rng.randint(1, 99)}",
        "owner": rng.choice(["anders", "mei", "tomas", "ines"]) + "@example.com",
        "stage": rng.choice(["new", "offer", "won"]),
        "amount": rng.randint(5, 400) * 500,
        "close": f"2026-{rng.randint(9, 12):02}-{rng.randint(1, 28):02}",
    }


def _page(rng: random.Random) -> str:
    parts = ["<!doctype html><html><head><title>Pricing</title><style>.t{display:grid}</style></head><body>"]
    for place in range(60):
        money, seats = rng.randint(9, 900), rng.randint(1, 500)
        parts.append(
            f'<section class="t" id="tier-{place}"><h2>Tier {place}</h2><p>From {money} EUR a month for '
            f"{seats} seats, with {rng.choice(['mail', 'chat', 'phone'])} support.</p>"
            f'<a href="/buy/{place}">Choose</a></section>'
        )
    return "".join(parts) + "</body></html>"


def _tree(rng: random.Random, depth: int) -> dict[str, Any]:
    node: dict[str, Any] = {
        "id": f"crm-{rng.randint(1000, 9999)}",
        "name": f"Unit {rng.randint(1, 999)}",
        "country": rng.choice(["SE", "DE", "SG", "BR"]),
        "revenue": rng.randint(1, 999) * 1000,
        "contacts": [{"name": f"P{rng.randint(1, 99)}", "mail": "p@example.com"}],
    }
    if depth:
        node["children"] = [_tree(rng, depth - 1) for _ in range(3)]
    return node
