"""What the questions to large results have to find, worked out from the tools' own answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from workload_kit.tools import PAGE, TABLE, TREE, answer

#: What turn 2 asks for, and how many rows at most.
AMOUNT, ROWS = 50_000, 20


def found() -> tuple[str, ...]:
    """Return texts that stand in the answers when every query of a handle is answered exactly."""
    rows = answer(*TABLE)
    groups = Counter((row["stage"], row["owner"]) for row in rows)
    large = [row for row in rows if row["amount"] > AMOUNT]
    price = answer(*PAGE).partition("<h2>Tier 59</h2><p>")[2].partition("</p>")[0]
    names = [child["name"] for child in answer(*TREE)["children"]]
    return (
        *(f"| {stage} | {owner} | {count} |" for (stage, owner), count in groups.items()),
        *(f"| {row['id']} | {row['account']} | {row['owner']} | {row['amount']} |" for row in large[:ROWS]),
        f"{ROWS} of {len(large)} rows",
        price,
        *names,
    )


def missing(texts: Sequence[str]) -> list[str]:
    """Return what none of the results says.

    Args:
        texts: what the model read of each query.
    """
    said = "\n".join(texts)
    return [text for text in found() if text not in said]
