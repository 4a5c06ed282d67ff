"""A database that also has the tables of approvals."""

from __future__ import annotations

from pathlib import Path

import pytest

from wakeful.store.maintain import upgrade
from wakeful.testing import Database, FakeClock
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
