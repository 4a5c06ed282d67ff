"""Play the 36-step workload and print what a provider's prompt cache would have charged.

    python bench/workload.py [--json] [--only NAME] [--url URL] [--peers DIR [--peers-python PATH]]

Twelve turns with an always-on assistant that has sixty tools, three large results, notes and a list of
artifacts that change with every call, and a gap of twenty minutes; through wakeful's public API, over both
protocols, against the test kit's wire server. Cost is in uncached input tokens; ``breaks`` are those that
nobody declared. A configuration whose plugins are not installed is left out.

``--json`` prints one object with a row for each configuration and protocol, ``--only`` one configuration,
``--url`` runs against another server that speaks the same protocols, and ``--peers`` runs the frameworks in
that folder beside it (its ``cache_bench.py``) with an interpreter that has them installed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from beside import add_peers
from workload_kit.play import PROTOCOLS, SETUPS, play, serving

COLUMNS = ("config", "protocol", "requests", "input", "read", "written", "uncached", "hit", "breaks", "cost")
#: Columns that are no numbers.
TEXTS = 2
#: What the rows are expected to cost at most.
TARGETS = {
    ("inline", "anthropic"): 257_000,
    ("inline", "openai"): 206_200,
    ("search+spillover", "anthropic"): 105_000,
    ("search+spillover", "openai"): 85_000,
    ("search+spillover+compaction", "anthropic"): 75_000,
    ("search+spillover+compaction", "openai"): 75_000,
}


async def measured(names: list[str], url: str) -> list[dict[str, Any]]:
    """Return the rows of the configurations."""
    rows = []
    async with serving(url) as server:
        for name in names:
            for protocol in PROTOCOLS:
                rows.append(await play(server, name, protocol))
                print(f"{name} {protocol}", file=sys.stderr)
    return rows


def of_peers(folder: Path, python: str) -> list[dict[str, Any]]:
    """Return the rows of the frameworks in a folder."""
    with TemporaryDirectory() as out:
        command = [python, "-B", "cache_bench.py", "--out", out]  # the folder may be somebody else's
        subprocess.run(command, cwd=folder, stdout=sys.stderr, check=True)
        table = json.loads((Path(out) / "cache.json").read_text(encoding="utf-8"))
    for label, row in table.items():
        if row.get("error"):
            print(f"{label}: {row['error'].strip().splitlines()[-1]}: left out", file=sys.stderr)
    if any(row.get("error") for row in table.values()):
        print("--peers-python names an interpreter that has the frameworks installed", file=sys.stderr)
    return [
        {
            "config": label,
            "protocol": "openai" if "openai" in label else "anthropic",
            "requests": row["requests"],
            "input": row["input_tokens"],
            "read": row["cached_read"],
            "written": row["cache_write"],
            "uncached": row["uncached"],
            "hit": row["hit_ratio"],
            "breaks": row["prefix_breaks"],
            "cost": row["cost_units"],
        }
        for label, row in table.items()
        if not row.get("error")
    ]


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table."""
    lines: list[tuple[str, ...]] = [(*COLUMNS, "target")]
    for row in rows:
        target = TARGETS.get((row["config"], row["protocol"]))
        cells = [
            f"{row[name]:,.0f}" if name in COLUMNS[3:7] + COLUMNS[9:] else str(row[name]) for name in COLUMNS
        ]
        lines.append((*cells, f"{target:,}" if target else ""))
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < TEXTS else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--only", choices=SETUPS, help="one configuration")
    parser.add_argument("--url", default="", help="another server")
    add_peers(parser, "cache_bench.py")
    args = parser.parse_args()
    names = [args.only] if args.only else list(SETUPS)
    for name in list(names):
        if SETUPS[name].missing:
            print(f"{name}: needs {', '.join(SETUPS[name].missing)}: left out", file=sys.stderr)
            names.remove(name)
    rows = asyncio.run(measured(names, args.url))
    rows += of_peers(args.peers, args.peers_python) if args.peers else []
    print(json.dumps({"rows": rows}, indent=1) if args.json else table(rows))


if __name__ == "__main__":
    main()
