"""An agent with a memory, on a database of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.notes.tests.noting import Desk
from wakeful.store.maintain import upgrade
from wakeful.testing import Database, FakeClock
from wakeful_notes.tables import LINEAGE


@pytest.fixture(scope="session")
def notes_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the kernel's tables and the plugin's, made once."""
    path = tmp_path_factory.mktemp("notes") / "template.db"
    upgrade(f"sqlite:///{path}", [LINEAGE])
    return path


@pytest.fixture
def desk(tmp_path: Path, notes_template: Path, clock: FakeClock) -> Desk:
    """An agent with a memory."""
    return Desk(Database.copy(notes_template, tmp_path / "wakeful.db", clock), clock)
