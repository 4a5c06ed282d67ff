"""Many conversations at once on one store; the full counts and their figures are those of the bench."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.counts import examples
from tests.durability.databases import VARIABLE, WITHOUT

BENCH = Path(__file__).resolve().parents[2] / "bench" / "durability.py"
CONVERSATIONS = 500


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_many_conversations_end_well_and_are_measured(database: str) -> None:
    if database == "postgresql" and not os.environ.get(VARIABLE):
        pytest.skip(WITHOUT)
    command = [sys.executable, str(BENCH), "--on", database, "--json"]
    done = subprocess.run(
        [*command, "--conversations", str(examples(CONVERSATIONS))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)[database]
    assert (found["errors"], found["first error"]) == (0, "")
    # Times depend on what else the machine does; memory does not.
    assert "memory" not in found["out of bounds"]
    assert 0 < found["journal, ms"] < found["step, ms"]
