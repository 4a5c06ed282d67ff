"""The examples of the README do what it says."""

from __future__ import annotations

import asyncio
import re
import tomllib
from datetime import UTC, datetime
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from sqlalchemy import select

from wakeful import action
from wakeful.config import structure
from wakeful.testing import say
from wakeful.types import Verdict
from wakeful_policy import PolicySettings
from wakeful_policy.approvals.tables import told
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


async def test_the_channel_of_the_readme_tells_what_is_asked_and_what_became_of_it(
    agent: Any, wakeful_app: Any
) -> None:
    (source,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(source, names)  # noqa: S102  (the example itself)
    said = asyncio.Queue[tuple[str, ...]]()

    class Chat:
        async def post(self, thread: str, card: str, *, to: tuple[str, ...], key: str) -> None:
            await said.put((thread, card.splitlines()[0], *to, key))

        async def close(self, key: str, how: str) -> None:
            await said.put((key, how))

    replies = (say(calls=[("pay", {"euros": 50, "to": "DE-4711"})]), "Asked.", "Paid.")
    async with wakeful_app(agent(*replies)) as app:
        parked = await app.send("agent", "Pay", conversation="c")
        telling = asyncio.ensure_future(names["tell"](app, Chat()))
        assert await said.get() == ("c", "ask-1: pay", "ana", "ask-1")
        for _ in range(1_000):
            if await app.store.read(lambda conn: conn.execute(select(told.c.number)).first()):
                break
        telling.cancel()  # and the process ends
        await app.approvals.approve(parked.pending[0], by="ana")
        telling = asyncio.ensure_future(names["tell"](app, Chat()))
        assert await said.get() == ("ask-1", "approved by ana")
        telling.cancel()
