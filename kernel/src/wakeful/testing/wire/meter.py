"""Books every request: what its prompt cost, and where it stopped repeating the one before."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from wakeful.testing.wire.bill import Bill, Clock
from wakeful.testing.wire.cache_anthropic import AnthropicCache
from wakeful.testing.wire.cache_openai import OpenAICache
from wakeful.testing.wire.canon import Body, Canon
from wakeful.testing.wire.compare import divergence
from wakeful.testing.wire.tokens import Counts, Tokenizer

#: Characters of a conversation's name in :meth:`Meter.explain`.
NAME = 12


class Meter:
    """The books of one server.

    Args:
        clock: the time of the caches; by default one that only moves when told.
        tokenizer: what counts tokens.
        log: a file that gets each row as a line of JSON; what it holds is overwritten.
        anthropic_minimum: smallest cacheable prefix in tokens, for every Anthropic model.
        openai_generation: ``auto``, ``automatic`` or ``breakpoint``, see :class:`OpenAICache`.

    Attributes:
        rows: one for each request; failed ones have ``error``.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        tokenizer: Counts | None = None,
        log: str | Path | None = None,
        anthropic_minimum: int | None = None,
        openai_generation: str = "auto",
    ) -> None:
        self.clock = clock or Clock()
        self.tokenizer: Counts = tokenizer or Tokenizer()
        self.anthropic = AnthropicCache(self.clock, anthropic_minimum)
        self.openai = OpenAICache(self.clock, self.tokenizer, openai_generation)
        self.rows: list[Body] = []
        self.last: dict[str, Canon] = {}
        self.by_message: dict[str, Canon] = {}
        self.log = Path(log) if log else None
        if self.log:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            self.log.write_text("")

    def fresh(self) -> Meter:
        """Return an empty meter with the same settings, its clock at zero."""
        clock, minimum = Clock(real=self.clock.real), self.anthropic.minimum
        return Meter(clock, self.tokenizer, self.log, minimum, self.openai.generation)

    def book(self, conversation: str, canon: Canon, *, retention: str = "in_memory") -> tuple[Bill, Body]:
        """Seal, charge and compare a prompt; its row is kept when :meth:`keep` is called.

        Args:
            conversation: whose earlier prompt it is compared with.
            canon: the prompt.
            retention: the request's ``prompt_cache_retention``.
        """
        canon.seal(self.tokenizer)
        anthropic = canon.api == "anthropic"
        bill = self.anthropic.charge(canon) if anthropic else self.openai.charge(canon, retention)
        before = self.last.get(conversation)
        self.last[conversation] = canon
        sections: Counter[str] = Counter()
        for block in canon.blocks:
            sections[block.section] += block.tokens
        marks = [block.path for block in canon.blocks if block.cache_ttl]
        row = {
            "n": len(self.rows) + 1,
            "conversation": conversation,
            "api": canon.api,
            "model": canon.model,
            "t": round(self.clock.now(), 3),
            "input_tokens": canon.total,
            "read": bill.read,
            "write": bill.write,
            "write_1h": bill.write_1h,
            "uncached": bill.uncached,
            "cost_units": round(bill.cost, 1),
            "blocks": len(canon.blocks),
            "sections": dict(sections),
            "breakpoints": [*marks, "(automatic)"] if canon.auto_ttl else marks,
            "break": divergence(before, canon) if before else None,
            "notes": bill.notes,
        }
        return bill, row

    def keep(self, row: Body) -> None:
        """Add a row to the books."""
        self.rows.append(row)
        if self.log:
            with self.log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def fail(self, conversation: str, status: int, error: str) -> None:
        """Add a row for a request that got no reply."""
        row = dict.fromkeys(("input_tokens", "read", "write", "uncached", "cost_units"), 0)
        about = {"n": len(self.rows) + 1, "conversation": conversation, "status": status, "error": error}
        self.rows.append({**about, **row, "break": None, "notes": ["error"]})

    def summary(self, conversation: str | None = None) -> Body:
        """Return the totals, of one conversation or of all."""
        rows = [
            row for row in self.rows if conversation in {None, row["conversation"]} and "error" not in row
        ]
        total, read = sum(row["input_tokens"] for row in rows), sum(row["read"] for row in rows)
        cuts = [row["break"] for row in rows if row["break"]]
        tails, breaks = [cut for cut in cuts if cut["tail"]], [cut for cut in cuts if not cut["tail"]]
        return {
            "tokenizer": self.tokenizer.name,
            "requests": len(rows),
            "failed_requests": len([row for row in self.rows if "error" in row]),
            "conversations": len({row["conversation"] for row in rows}),
            "input_tokens": total,
            "cached_read": read,
            "cache_write": sum(row["write"] for row in rows),
            "uncached": sum(row["uncached"] for row in rows),
            "output_tokens": sum(row.get("output_tokens", 0) for row in rows),
            "cost_units": round(sum(row["cost_units"] for row in rows), 1),
            "hit_ratio": round(read / total, 4) if total else 0.0,
            "prefix_breaks": len(breaks),
            "tail_replacements": len(tails),
            "break_reasons": dict(Counter(f"{cut['section']}:{cut['reason']}" for cut in breaks)),
            "tail_reasons": dict(Counter(f"{cut['section']}:{cut['reason']}" for cut in tails)),
            "lost_tokens": sum(cut["lost_tokens"] for cut in breaks),
            "notes": dict(Counter(note for row in rows for note in row["notes"])),
            "unreachable_tools": sorted({tool for row in rows for tool in row.get("unreachable", [])}),
            "max_input_tokens": max((row["input_tokens"] for row in rows), default=0),
            "first_input_tokens": rows[0]["input_tokens"] if rows else 0,
        }

    def explain(self) -> str:
        """Return the rows as readable lines."""
        return "\n".join(_line(row) for row in self.rows)


def _line(row: Body) -> str:
    cut, why = row["break"], "-"
    if cut:
        kind = "tail" if cut["tail"] else "BREAK"
        why = f"{kind} {cut['reason']} at {cut['path']} byte {cut['byte_offset']} (-{cut['lost_tokens']} tok)"
    figures = (
        f"{row['input_tokens']:>8} in {row['read']:>8} read {row['write']:>7} write {row['uncached']:>7} new"
    )
    return f"#{row['n']:<4}{row['conversation'][:NAME]:<13}{figures}  {why} {' '.join(row['notes'])}"
