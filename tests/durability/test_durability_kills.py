"""A run that is killed anywhere goes on in another process; nothing is lost or done twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.counts import examples
from tests.durability.databases import VARIABLE, WITHOUT

#: Runs, each killed at one point at least, on either database.
POINTS = 200


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_nothing_is_lost_or_done_twice_wherever_a_run_is_killed(database: str) -> None:
    if database == "postgresql" and not os.environ.get(VARIABLE):
        pytest.skip(WITHOUT)
    command = [sys.executable, "-m", "tests.durability", "--on", database, "--points", str(examples(POINTS))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert not report["problems"]
    assert report["runs"] == examples(POINTS)
    assert report["kills"] >= report["runs"]
