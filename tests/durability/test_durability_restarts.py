"""The server of the database restarts while conversations are under way."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.counts import examples
from tests.durability.restarts import PROGRAMS, programs


@pytest.mark.skipif(programs() is None, reason=f"no PostgreSQL server is installed under {PROGRAMS}")
def test_a_server_that_restarts_loses_nothing_and_nothing_happens_twice() -> None:
    command = [sys.executable, "-m", "tests.durability.restarts"]
    count = ["--conversations", "10", "--restarts", str(max(2, examples(20)))]
    done = subprocess.run([*command, *count], capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert not report["problems"]
    assert report["callers got"].keys() <= {"an answer", "an error"}
    assert sum(report["callers got"].values()) == report["turns"]
