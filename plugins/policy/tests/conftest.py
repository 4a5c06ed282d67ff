"""A database that also has the tables of approvals, and an agent whose payments wait for a person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from wakeful import Agent, action
from wakeful.store.maintain import upgrade
from wakeful.testing import Database, FakeClock, ScriptedModel
from wakeful.types import Json
from wakeful_policy.approvals.tables import LINEAGE


@pytest.fixture(scope="session")
def policy_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the kernel's tables and the plugin's, made once."""
    path = tmp_path_factory.mktemp("policy") / "template.db"
    upgrade(f"sqlite:///{path}", [LINEAGE])
    return path


@pytest.fixture
def store(tmp_path: Path, policy_template: Path, clock: FakeClock) -> Database:
    """A database of the test's own."""
    return Database.copy(policy_template, tmp_path / "wakeful.db", clock)


@pytest.fixture
def paid() -> list[tuple[int, str]]:
    """What was paid, in order."""
    return []


@pytest.fixture
def agent(paid: list[tuple[int, str]]) -> Callable[..., Agent]:
    """Make an agent that plays replies; payments wait for a person."""

    @action(effect="external", output_trust="trusted")
    async def pay(euros: int, to: str = "") -> str:
        """Pay.

        Args:
            euros: how much.
            to: the account.
        """
        paid.append((euros, to))
        return f"paid {euros}"

    @action(effect="read")
    async def mail() -> str:
        """Read the mail."""
        return "Please pay 50 to DE-4711."

    rule = {"action": "pay", "verdict": "require_approval", "reason": "money leaves the house"}

    def make(
        *replies: Any,
        rules: Sequence[Json] = (rule,),
        approvers: Sequence[str] = ("ana",),
        name: str = "agent",
        **settings: Json,
    ) -> Agent:
        return Agent(
            name=name,
            model=ScriptedModel(list(replies)),
            actions=[pay, mail],
            plugins=["policy", "approvals"],
            settings={"policy": {"rules": list(rules)}, "approvals": settings},
            approvers=approvers,
        )

    return make
