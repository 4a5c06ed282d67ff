"""Kill a run at many points, on SQLite or PostgreSQL, and print what came of it as JSON.

python -m tests.durability --points 200
python -m tests.durability --points 200 --on postgresql
python -m tests.durability --points 200 --decided       # around a person's decision
python -m tests.durability --seed 17 --jobs 1           # one point again
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from attrs import asdict

from tests.durability.databases import Databases, OnPostgresql, OnSqlite
from tests.durability.points import DECIDED, PHASES, Story, Totals, Trial, shares


def main() -> int:
    """Play the runs; exit code 1 if anything was wrong."""
    args = _arguments()
    with TemporaryDirectory(prefix="wakeful-kills-") as name:
        folder = Path(name)
        databases: Databases = OnSqlite(folder) if args.on == "sqlite" else OnPostgresql.of_environment()
        try:
            report = _report(databases, folder, args)
        finally:
            databases.close()
    print(json.dumps(report, indent=1))
    return 1 if report["problems"] else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.durability")
    parser.add_argument("--on", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--points", type=int, default=10, help="runs, each killed at one point or more")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="this one only")
    parser.add_argument("--decided", action="store_true", help="kill only from a person's decision on")
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time")
    return parser.parse_args()


def _report(databases: Databases, folder: Path, args: argparse.Namespace) -> dict[str, object]:
    began = monotonic()
    undisturbed = Trial(databases.make("undisturbed"), folder / "undisturbed", 0)
    story = undisturbed.play()
    databases.drop("undisturbed")
    if story.problems:
        return {"problems": [f"undisturbed: {problem}" for problem in story.problems]}
    seeds = [args.seed] if args.seed is not None else range(args.first, args.first + args.points)
    gc.freeze()
    parts = shares(seeds, args.jobs)
    for place, part in enumerate(parts):
        if not os.fork():
            own = folder / f"stories-{place}"
            _share(databases, folder, part, undisturbed.counts, own, DECIDED if args.decided else PHASES)
    codes = [os.wait()[1] for _ in parts]
    stories = [line for path in sorted(folder.glob("stories-*")) for line in path.read_text().splitlines()]
    told = [Story(**json.loads(line)) for line in stories]
    problems = [f"seed {story.seed} ({story.killed}): {p}" for story in told for p in story.problems]
    if any(codes) or len(told) != len(seeds):
        problems.append(f"{len(told)} of {len(seeds)} runs were told; exit codes {codes}")
    times = sorted(story.seconds for story in told)
    return {
        "on": args.on,
        "runs": len(told),
        "kills": sum(len(story.killed) for story in told),
        "killed in": Counter(where.split(":")[0] for story in told for where in story.killed),
        "points of an undisturbed run": undisturbed.counts,
        "seconds of a run, median": round(times[len(times) // 2], 2) if times else None,
        "seconds": round(monotonic() - began, 1),
        "problems": problems,
    }


def _share(
    databases: Databases,
    folder: Path,
    seeds: list[int],
    totals: Totals,
    told: Path,
    targets: Sequence[str],
) -> None:
    """Play some of the seeds in this process and end it."""
    code = 1
    try:
        with told.open("w") as file:
            for seed in seeds:
                name = f"run{seed}"
                effects = folder / f"{name}.effects"
                story = Trial(databases.make(name), effects, seed, totals, targets).play()
                databases.drop(name)
                file.write(json.dumps(asdict(story)) + "\n")
        code = 0
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
