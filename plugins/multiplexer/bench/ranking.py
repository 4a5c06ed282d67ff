"""How often the search finds the right tool, and how long it takes.

    python plugins/multiplexer/bench/ranking.py FOLDER [--misses]

FOLDER holds ``tool_queries.json`` (``queries``: ``q``, ``gold`` ids, ``kind``, perhaps ``catalogue``) and a
catalogue ``tools_<name>.json`` for each name used (``tools``: ``id, server, name, description, parameters``;
``mcp`` where a query names none).
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from adapter import factory

#: Groups of kinds of queries that are reported together; other kinds are reported by catalogue.
GROUPS = {
    "agent": "typed by a model",
    "plain": "in users' words",
    "hard": "in users' words",
    "no_overlap": "in users' words",
    **dict.fromkeys(("name_exact", "name_spaced", "name_typo", "name_recased"), "names"),
}
#: What must be answered whatever it says.
HOSTILE = (
    *("", " ", '"', "'", "AND", "NOT NOT", "foo*", "(", ")(", "[", "{", "^.*(a+)+$", "\\", "a:b", "NEAR("),
    *("%", "--", "\0", "日本語", "🎉", "x" * 5_000, "the of", "null", "'; drop table m; --", "é" * 200),
    *("\ud800", "a " * 20_000, "-" * 3_000),
)


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--misses", action="store_true", help="name the queries that found nothing right")
    args = parser.parse_args()
    queries = json.loads((args.folder / "tool_queries.json").read_text("utf-8"))["queries"]
    report: dict[str, object] = {}
    for catalogue in dict.fromkeys(query.get("catalogue", "mcp") for query in queries):
        tools = json.loads((args.folder / f"tools_{catalogue}.json").read_text("utf-8"))["tools"]
        own = [query for query in queries if query.get("catalogue", "mcp") == catalogue]
        report[catalogue] = measured(tools, own, misses=args.misses)
    print(json.dumps(report, indent=1, ensure_ascii=False))


def measured(
    tools: list[Mapping[str, object]], queries: list[Mapping[str, object]], *, misses: bool
) -> dict[str, object]:
    """Return recall at 1, 5 and 10 by group, CPU time, and hostile queries that raised."""
    began = time.process_time()
    search = factory(tools)
    built = time.process_time() - began
    ranks: dict[str, list[int]] = defaultdict(list)
    missed, times = [], []
    for query in queries:
        began = time.process_time()
        found = search(str(query["q"]), 10)
        times.append((time.process_time() - began) * 1_000)
        gold = query["gold"]
        rank = next((n for n, id_ in enumerate(found, 1) if isinstance(gold, list) and id_ in gold), 99)
        ranks[GROUPS.get(str(query["kind"]), "requests")].append(rank)
        if rank > 5:  # noqa: PLR2004  (recall at 5)
            missed.append([query["q"], gold, found[:3]])
    raised = [text[:20] for text in HOSTILE if not answers(search, text)]
    recall = {
        name: {"queries": len(found)} | {f"recall@{k}": share(found, k) for k in (1, 5, 10)}
        for name, found in ranks.items()
    }
    figures = {
        "tools": len(tools),
        "build_ms": round(built * 1_000),
        "search_ms_mean": round(statistics.mean(times), 2),
        "search_ms_max": round(max(times), 2),
        "hostile_raised": raised,
    }
    return {**figures, "recall": recall, **({"misses": missed} if misses else {})}


def answers(search: object, text: str) -> bool:
    """Whether a query is answered."""
    try:
        list(search(text, 5))  # type: ignore[operator]  # a search
    except Exception:  # noqa: BLE001  (any failure is what is looked for)
        return False
    return True


def share(ranks: list[int], k: int) -> float:
    """Return the share of ranks up to ``k``."""
    return round(sum(rank <= k for rank in ranks) / len(ranks), 3)


if __name__ == "__main__":
    main()
