"""The command that measures what a step costs runs, and gives the figures that it promises."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

#: A folder of peers in which nothing is measured: what a framework's process would print.
PEERS = {
    "overhead_bench.py": """\
import json, sys
assert sys.argv[1:3] == ["--child", "deepagents/anthropic"], sys.argv
print("RESULT " + json.dumps({"cpu_ms_step": 20.0, "many_steps_s": 5.0, "rss_run_mb": 90.0}))
""",
    "workload.py": """\
def tools():
    return []


def scenario():
    return {"replies": [{"text": "Done."}]}
""",
}
COMMAND = Path(__file__).parents[1] / "bench" / "overhead.py"


def test_the_overhead_is_measured_for_both_providers() -> None:
    few = ["--rounds", "1", "--turns", "1", "--many", "2", "--json"]
    done = subprocess.run([sys.executable, str(COMMAND), *few], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == {"bare/anthropic", "bare/openai", "wakeful/anthropic", "wakeful/openai"}
    for name, row in found.items():
        assert set(row) == {"cpu_ms_per_step", "ratio", "steps_per_s_200", "ratio_200", "rss_mb"}
        assert all(value > 0 for value in row.values())
        bare = found[f"bare/{name.rpartition('/')[2]}"]
        assert abs(row["ratio"] - row["cpu_ms_per_step"] / bare["cpu_ms_per_step"]) < 0.01


def test_peers_are_found_from_where_the_command_is_called(tmp_path: Path) -> None:
    folder = tmp_path / "peers"
    folder.mkdir()
    for name, text in PEERS.items():
        (folder / name).write_text(text, encoding="utf-8")

    def measured(peers: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(COMMAND), "--rounds", "1", "--only", "deepagents", "--json"]
        command += ["--peers", peers]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = measured("peers")
    assert done.returncode == 0, done.stderr
    row = {"cpu_ms_per_step": 20.0, "steps_per_s_200": 5.0, "rss_mb": 90.0}
    assert json.loads(done.stdout) == {"deepagents/anthropic": row}
    assert sorted(path.name for path in folder.iterdir()) == sorted(PEERS)
    wrong = measured(".")
    assert wrong.returncode == 2
    assert wrong.stderr.endswith("argument --peers: . has no overhead_bench.py\n")
