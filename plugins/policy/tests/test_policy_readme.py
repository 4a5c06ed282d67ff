"""The examples of the README do what it says."""

from __future__ import annotations

import re
import tomllib
from datetime import UTC, datetime
from importlib.metadata import entry_points
from pathlib import Path

from wakeful import action
from wakeful.config import structure
from wakeful.types import Verdict
from wakeful_policy import PolicySettings
from wakeful_policy.rules import Rules

README = Path(__file__).parents[1] / "README.md"


@action(effect="external", output_trust="trusted")
async def send_email(to: str) -> str:
    """Send."""
    return to


def test_the_rules_of_the_readme() -> None:
    examples = re.findall(r"```toml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    raw = tomllib.loads(examples[0])["agents"]["desk"]["plugins"]["policy"]
    rules = Rules(structure(PolicySettings, raw, "README.md").rules)
    noon, night = datetime(2026, 3, 4, 12, tzinfo=UTC), datetime(2026, 3, 4, 23, tzinfo=UTC)
    ours, other = {"to": "bob@example.com"}, {"to": "bob@elsewhere.example"}
    assert rules.judgement(send_email, ours, noon).verdict is Verdict.ALLOW
    assert rules.judgement(send_email, ours, night).verdict is Verdict.DEFER
    people = tomllib.loads(examples[1])
    assert people["agents"]["mailer"]["approvers"] == ["ana"]
    assert set(people["plugins"]["enable"]) <= {each.name for each in entry_points(group="wakeful")}
    (case,) = tomllib.loads(examples[2])["case"]
    expected = Verdict[case["expect"].upper()]
    assert rules.judgement(send_email, case["args"], noon).verdict is expected
    assert rules.judgement(send_email, other, night).verdict is expected
