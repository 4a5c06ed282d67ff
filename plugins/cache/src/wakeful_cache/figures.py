"""What every request of a conversation read, wrote and lost, from the store; and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from attrs import frozen
from sqlalchemy import Connection, RowMapping, select

from wakeful.store.records import usage_of
from wakeful.store.tables import epoch, model_call, run
from wakeful.types import Break, Usage
from wakeful_cache.marks import DENSE

#: What the provider may read less without a reason: caches work in steps, OpenAI's in 128 tokens.
SLACK_TOKENS = 256
#: The same as a share of what was sent.
SLACK_SHARE = 0.02
PARTS = ("tools", "system", "history", "state")
NO_USAGE = "the provider reported no usage"
UNMARKED = "the last tool carries no breakpoint"


@frozen
class Line:
    """One request.

    Args:
        number: in the conversation, from 1.
        run, step, kind, agent, model, epoch, at: which request it was.
        tokens: of its tools, system text, history and state: its input, shared by length.
        usage: what it used.
        wasted: tokens that were sent before and not read.
        why: what explains that; empty if nothing was wasted.
        change: where it stopped repeating the request before it.
        findings: what is wrong with it otherwise.
    """

    number: int
    run: str
    step: int
    kind: str
    agent: str
    model: str
    epoch: int
    at: datetime
    tokens: Mapping[str, int]
    usage: Usage
    wasted: int
    why: str
    change: Break | None
    findings: tuple[str, ...] = ()

    @property
    def hit(self) -> float:
        """Share of the input that was read from the cache."""
        return self.usage.read / self.usage.input if self.usage.input else 0.0


def conversation_of(conn: Connection, name: str) -> str | None:
    """Return the conversation of an id, which may be that of a run; None if there is neither."""
    found = conn.execute(select(run.c.conversation_id).where(run.c.id == name)).scalar()
    if found is not None:
        return str(found)
    same = select(run.c.conversation_id).where(run.c.conversation_id == name).limit(1)
    return conn.execute(same).scalar()


def lines_of(conn: Connection, conversation: str) -> tuple[Line, ...]:
    """Return the requests of a conversation that got a reply, in order."""
    columns = (run.c.agent, run.c.epoch, run.c.started_at.label("run_started"))
    query = (
        select(model_call, *columns)
        .join(run, run.c.id == model_call.c.run_id)
        .where(run.c.conversation_id == conversation, model_call.c.error == "")
        .order_by(model_call.c.id)
    )
    reasons = {
        (agent, number): reason
        for agent, number, reason in conn.execute(
            select(epoch.c.agent, epoch.c.id, epoch.c.reason).where(epoch.c.conversation_id == conversation)
        )
    }
    lines: list[Line] = []
    last: dict[str, _Seen] = {}
    for row in conn.execute(query).mappings():
        seen = _Seen.of(row)
        before = last.get(seen.agent)
        reason = reasons.get((seen.agent, seen.epoch), "")
        lines.append(seen.line(len(lines) + 1, before, reason))
        if seen.usage.reported and seen.usage.input:
            last[seen.agent] = seen
    return tuple(lines)


@frozen
class _Seen:
    """One row of the table, read."""

    row: RowMapping
    prompt: Mapping[str, Any]
    usage: Usage
    agent: str
    epoch: int

    @classmethod
    def of(cls, row: RowMapping) -> _Seen:
        prompt = json.loads(row["prompt"])
        return cls(row, prompt, usage_of(row), row["agent"], prompt.get("epoch") or row["epoch"])

    @property
    def tokens(self) -> dict[str, int]:
        """Shares of the input by length; the rest of the division goes to the history."""
        sizes = {part: self.prompt.get("characters", {}).get(part, 0) for part in PARTS}
        total = sum(sizes.values())
        shares = {part: self.usage.input * size // total if total else 0 for part, size in sizes.items()}
        shares["history"] += self.usage.input - sum(shares.values())
        return shares

    @property
    def stays(self) -> int:
        """Tokens that the next request repeats."""
        return self.usage.input - (0 if self.prompt.get("kept", True) else self.tokens["state"])

    def line(self, number: int, before: _Seen | None, reason: str) -> Line:
        change = Break(**self.prompt["change"]) if self.prompt.get("change") else None
        wasted = 0
        if before is not None and self.usage.reported:
            wasted = max(before.stays - self.usage.read, 0)
            if change is None and wasted <= max(SLACK_TOKENS, SLACK_SHARE * before.stays):
                wasted = 0
        return Line(
            number=number,
            run=self.row["run_id"],
            step=self.row["step"],
            kind=self.row["kind"],
            agent=self.agent,
            model=self.row["model"],
            epoch=self.epoch,
            at=self.row["started_at"],
            tokens=self.tokens,
            usage=self.usage,
            wasted=wasted,
            why=self._why(before, change, reason) if wasted and before else "",
            change=change,
            findings=self._findings(),
        )

    def _why(self, before: _Seen, change: Break | None, reason: str) -> str:
        ttl = before.prompt.get("ttl", 0)
        idle = (self.row["started_at"] - before.row["started_at"]).total_seconds()
        family = self.prompt.get("family", "none")
        if change is not None:
            return change.reason
        if before.epoch != self.epoch:
            return f"epoch {self.epoch}: {reason}"
        if before.row["model"] != self.row["model"]:
            return f"{self.row['model']} answered in place of {before.row['model']}"
        if ttl and idle > ttl:
            return f"expired: {idle:,.0f} s since the request before, kept for {ttl:,} s"
        if family == "breakpoint" and not self.prompt.get("marks", {}).get("items"):
            return "no breakpoint in the messages"
        return "the provider read less than was sent"

    def _findings(self) -> tuple[str, ...]:
        found = [] if self.usage.reported else [NO_USAGE]
        size = self.prompt.get("characters", {}).get("tools", 0)
        marks = self.prompt.get("marks", {})
        long = self.prompt.get("declared", 0) and size >= DENSE * self.prompt.get("minimum", 0)
        if self.prompt.get("family") == "breakpoint" and long and not marks.get("tools"):
            found.append(UNMARKED)
        return tuple(found)


@frozen
class Totals:
    """All requests together."""

    requests: int
    usage: Usage
    wasted: int
    declared: int
    undeclared: int

    @classmethod
    def of(cls, lines: tuple[Line, ...]) -> Totals:
        """Return the totals of some lines."""
        changes = [line.change for line in lines if line.change is not None]
        declared = sum(change.declared for change in changes)
        return cls(
            len(lines),
            sum((line.usage for line in lines), Usage(cost=0.0) if lines else Usage()),
            sum(line.wasted for line in lines),
            declared,
            len(changes) - declared,
        )

    @property
    def hit(self) -> float:
        """Share of all input that was read from caches."""
        return self.usage.read / self.usage.input if self.usage.input else 0.0
