"""What the tests of durability share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.durability.databases import VARIABLE, WITHOUT, OnPostgresql
from wakeful.store.maintain import upgrade
from wakeful_policy.approvals.tables import LINEAGE


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give an empty database on each of both kinds, with the tables of approvals or none yet."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'wakeful.db'}"
        return
    if VARIABLE not in os.environ:
        pytest.skip(WITHOUT)
    server = OnPostgresql.of_environment()
    made = server.make("outcomes")
    upgrade(made, (LINEAGE,))
    yield made
    server.drop("outcomes")
    server.close()
