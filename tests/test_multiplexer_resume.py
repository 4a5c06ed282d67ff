"""A process is killed while a call runs several hidden actions; another one goes on."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.counts import examples
from tests.multiplexed import WAYS, Way

WORKER = Path(__file__).with_name("multiplexer_worker.py")


#: Both wire formats in a full run; one where counts are short, as each is two processes that load an SDK.
KILLED_ON = WAYS[:2] if examples(20) == 20 else WAYS[1:2]
ENTRIES = [
    {"action_name": "finish_once", "parameters": {}},
    {"action_name": "finish_onze", "parameters": {}},
    {"action_name": "Read Again", "parameters": {}},
    {"action_name": "hang_once", "parameters": {}},
    {"action_name": "wiki_create_page", "parameters": {"titel": "A"}},
]


def work(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(WORKER), *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("way", KILLED_ON, ids=lambda way: way.name)
def test_each_action_of_a_killed_call_comes_back_as_it_should(
    wire: Any, way: Way, store: Any, tmp_path: Path
) -> None:
    wire.play([{"calls": [{"tool": "execute_discovered_action", "args": {"actions": ENTRIES}}]}, "Done."])
    provider = {"api_key": "k", "base_url": way.url(wire), **way.settings}
    model = json.dumps({"model": way.model, "settings": {way.model.partition(":")[0]: provider}})
    folder = tmp_path / "world"
    folder.mkdir()
    killed = work(store.url, str(folder), model)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with closing(sqlite3.connect(tmp_path / "wakeful.db")) as database:
        ((run_id,),) = database.execute("select id from run").fetchall()
    ended = work(store.url, str(folder), model, run_id)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["calls"] == [
        ["finish_once", 0, "SUCCESS"],
        ["finish_onze", 1, "UNKNOWN_ACTION"],
        ["read_again", 2, "SUCCESS"],
        ["hang_once", 3, "OUTCOME_UNKNOWN"],
        ["wiki_create_page", 4, "UNKNOWN_ARGUMENT"],
    ]
    counts = {path.name: path.stat().st_size for path in folder.iterdir() if path.suffix == ""}
    assert {name: counts[name] for name in ("finished", "read", "hung")} == {
        "finished": 1,
        "read": 2,
        "hung": 1,
    }
    (result,) = told["results"]
    places = [
        result.index(word) for word in ("finished 1", "finish_onze", "read 2", "OUTCOME_UNKNOWN", "titel")
    ]
    assert places == sorted(places)
    assert told["answer"] == "Done."
    assert wire.summary()["prefix_breaks"] == 0, wire.explain()
