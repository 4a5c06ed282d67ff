"""Several processes over one database: who stalled writes nothing, one run at a time, one decision each."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.counts import examples
from tests.durability.contests import FULL
from tests.durability.databases import VARIABLE, WITHOUT

#: Those that are the same in everyday runs.
ALWAYS = {"deciders"}


@pytest.mark.parametrize("contest", FULL)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_processes_do_not_get_in_each_others_way(database: str, contest: str) -> None:
    if database == "postgresql" and not os.environ.get(VARIABLE):
        pytest.skip(WITHOUT)
    if database == "sqlite" and contest == "outages":
        pytest.skip("SQLite has no server")
    count = FULL[contest] if contest in ALWAYS else examples(FULL[contest])
    command = [sys.executable, "-m", "tests.durability.contests", contest, "--on", database]
    done = subprocess.run([*command, "--count", str(count)], capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    assert not json.loads(done.stdout)["problems"]
