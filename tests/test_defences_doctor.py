"""``wakeful doctor`` names the combinations of defences that leave something open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import wakeful
from tests.cli import Console
from tests.test_defences import ACTIONS, SUBSETS
from wakeful import Agent
from wakeful.testing import ScriptedModel

OPEN = "no plugin judges calls, and these can reach outside or cannot be undone: fetch, send"
UNWEIGHED = (
    "no plugin weighs what a run has read, so outside text can ask for these as the user can: "
    "fetch (allow), send (require_approval)"
)
UNMARKED = "no plugin marks outside text as data; it comes from: get_inbox"
UNREVIEWED = "no plugin reviews calls: a person is asked about them, such as set_field"
DENIED = "no plugin stores approvals: whatever needs one is denied, such as "
NOBODY = "approvers names nobody: only an assignee, or an asker where a rule says so, can decide"
SITES = "taint: trusted_sites is empty: once outside text was read, a person is asked about every page: fetch"


def expected(on: set[str]) -> list[str]:
    """Return what should be said of a combination."""
    found = []
    if not on & {"taint", "policy"}:
        found.append(OPEN)
    if "policy" in on and "taint" not in on:
        found.append(UNWEIGHED)
    if "taint" not in on:
        found.append(UNMARKED)
    if "taint" in on and "judge" not in on:
        found.append(UNREVIEWED)
    if "approvals" in on:
        found.append(NOBODY)
    elif on & {"taint", "policy"}:
        found.append(DENIED + ("fetch, send, set_draft, set_field" if "taint" in on else "send"))
    return [*found, *([SITES] if "taint" in on else [])]


@pytest.mark.parametrize("on", SUBSETS, ids=lambda on: "+".join(sorted(on)) or "none")
async def test_each_combination_says_what_it_leaves_open(tmp_path: Path, on: set[str]) -> None:
    agent = Agent(
        model=ScriptedModel([]), actions=ACTIONS, plugins=sorted(on), store=f"sqlite:///{tmp_path / 'w.db'}"
    )
    async with wakeful.open(agent) as app:
        assert list(app.describe("agent").warnings) == expected(on)


async def test_nothing_is_said_where_nothing_is_open(tmp_path: Path) -> None:
    agent = Agent(
        model=ScriptedModel([]),
        actions=ACTIONS,
        plugins=["taint", "policy", "judge", "approvals"],
        settings={"taint": {"trusted_sites": ["docs.example.com"]}},
        approvers=["ana"],
        store=f"sqlite:///{tmp_path / 'w.db'}",
    )
    async with wakeful.open(agent) as app:
        assert app.describe("agent").warnings == ()


async def test_what_was_read_is_weighed_also_where_a_rule_asks_a_person_anyway(tmp_path: Path) -> None:
    agent = Agent(
        model=ScriptedModel([]),
        actions=ACTIONS,
        plugins=["taint", "policy"],
        settings={"policy": {"rules": [{"action": "*", "verdict": "require_approval"}]}},
        store=f"sqlite:///{tmp_path / 'w.db'}",
    )
    async with wakeful.open(agent) as app:
        assert not [each for each in app.describe("agent").warnings if "no plugin weighs" in each]


CONFIG = """
[store]
url = "sqlite:///wakeful.db"

[agents.desk]
model = "replay:script.jsonl"
actions = ["tools:*"]
plugins.enable = ["policy"]

[[agents.desk.plugins.policy.rules]]
action = "send_emial"
verdict = "deny"
"""
TOOLS = '''
from wakeful import action


@action(effect="external", output_trust="trusted")
def send_email(to: str) -> str:
    """Send a mail."""
    return to
'''


def test_it_is_said_in_red_on_a_terminal_and_a_mistyped_rule_is_named(tmp_path: Path) -> None:
    console = Console(tmp_path)
    console.write("wakeful.toml", CONFIG)
    console.write("tools.py", TOOLS)
    console.write("script.jsonl", json.dumps({"text": "Hi."}))
    document: Any = console.run("doctor", "--json").json
    warnings = document["agents"]["desk"]["warnings"]
    assert any(each.startswith("no plugin weighs what a run has read") for each in warnings)
    assert (
        "policy: rule 1 (action send_emial) is about no action of this agent; did you mean 'send_email'?"
        in warnings
    )
    said = console.run("doctor").out
    assert all(f"warning: {each}" in " ".join(said.split()) for each in warnings)
