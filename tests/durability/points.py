"""One run, killed where a seed says, from its input to its end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any, TypeVar

from attrs import define, field, frozen
from sqlalchemy import Connection

from tests.durability import children
from tests.durability.children import Doing, Ended, fork, in_app
from tests.durability.kills import KINDS, Point
from tests.durability.looks import Look, look
from tests.durability.verdict import Evidence, judge
from tests.durability.world import Effects
from wakeful.store.engine import Store
from wakeful.system import SystemClock

T = TypeVar("T")

#: Processes that one run may need.
MOST = 12
#: What is killed first: the process with the turn, the one that decides, or the one that goes on after it.
PHASES = ("turn", "turn", "turn", "decision", "rest", "rest")
#: Only from the decision on: the claim, the execution of the call and what follows.
DECIDED = ("decision", "rest")

Totals = Mapping[str, Mapping[str, int]]


@frozen
class Story:
    """What happened to one run.

    Args:
        seed: what decided it.
        killed: where processes were killed.
        problems: what is wrong; empty if nothing is.
        seconds: how long it took.
    """

    seed: int
    killed: list[str]
    problems: list[str]
    seconds: float


@define
class Trial:
    """Plays one run.

    Args:
        url: an empty, migrated database.
        effects: the file of the world.
        seed: decides where processes are killed, when and how a person decides, and who goes on.
        totals: how many points of each kind each phase has; without, nothing is killed.
        targets: phases that are killed, each as often as it is named.
    """

    url: str
    effects: Path
    seed: int
    totals: Totals = field(factory=dict)
    targets: Sequence[str] = PHASES
    counts: dict[str, dict[str, int]] = field(factory=dict, init=False)
    _random: Random = field(init=False)
    _killed: list[str] = field(factory=list, init=False)
    _settled: list[dict[str, int]] = field(factory=list, init=False)
    _torn: list[str] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self._random = Random(self.seed)  # noqa: S311  (points are drawn, not secrets)

    def play(self) -> Story:
        """Let processes work on the run until it has ended, and judge what they left."""
        began = monotonic()
        problems = self._play()
        return Story(self.seed, self._killed, problems, monotonic() - began)

    def _play(self) -> list[str]:
        rng = self._random
        early, yes, stay = rng.random() < 0.5, rng.random() < 0.8, rng.random() < 0.5
        if not self.totals:
            early, yes, stay = False, True, False  # each phase in a process of its own
        targets = self.targets
        phases = Counter([rng.choice(targets), *(rng.choice(targets) for _ in range(rng.randrange(3)))])
        stay = stay and not phases["rest"]
        for _ in range(MOST):
            now = self._look()
            if now.ended:
                last = in_app(self.url, self.effects, children.serve)  # wake-ups that find nothing left to do
                return self._judge() if last.how == "ok" else [f"afterwards: {last.value}"]
            phase, doing = self._next(now, early=early, yes=yes, stay=stay)
            point = self._point(phase) if phases[phase] > 0 and self.totals else None
            phases[phase] -= 1
            ended = in_app(self.url, self.effects, doing, point)
            if ended.how == "failed":
                return [f"{phase}: {ended.value}"]
            if ended.how == "killed":
                self._killed.append(f"{phase}: {point.kind} {point.number}" if point else f"{phase}: ?")
            else:
                self.counts.setdefault(phase, ended.value)
            self._remember()
        return [f"it does not end: {self._look()}"]

    def _next(self, now: Look, *, early: bool, yes: bool, stay: bool) -> tuple[str, Doing]:
        """Return what the next process does, and the phase it counts as."""
        if not now.run:
            return "turn", children.send
        if now.pending and (early or now.status.startswith("awaiting")):
            return "decision", children.decide(now.pending, yes=yes, stay=stay)
        going = children.serve if self._random.random() < 0.5 or not now.status else children.resume(now.run)
        return ("turn" if now.pending or now.status == "" else "rest"), going

    def _point(self, phase: str) -> Point:
        kind = self._random.choice(KINDS)
        most = self.totals.get(phase, {}).get(kind, 1)
        if kind == "await":
            most = most * 9 // 10  # their number varies a little
        return Point(kind, self._random.randint(1, max(1, most)))

    def _look(self) -> Look:
        return Look(**_value(self._reading(look)))

    def _remember(self) -> None:
        """Keep what had its result and what did not when the process ended."""
        now, counts = self._look(), Effects(self.effects).counts()
        done = set(now.done)
        self._settled.append({f"{name} {key}": count for (name, key), count in counts.items() if key in done})
        self._torn += now.open

    def _judge(self) -> list[str]:
        counts = Effects(self.effects).counts()
        effects = {f"{name} {key}": count for (name, key), count in counts.items()}
        evidence = Evidence(effects, self._settled, self._torn, len(self._settled))
        problems: list[str] = _value(self._reading(lambda conn: judge(conn, evidence)))
        return problems

    def _reading(self, fn: Callable[[Connection], Any]) -> Ended:
        async def read() -> Any:
            store = await Store.open(self.url, clock=SystemClock())
            try:
                return await store.read(fn)
            finally:
                await store.close()

        return fork(lambda: asyncio.run(read()))


def _value(ended: Ended) -> Any:
    if ended.how != "ok":
        raise RuntimeError(f"looking {ended.how}: {ended.value}")
    return ended.value


def shares(seeds: Iterable[int], jobs: int) -> list[list[int]]:
    """Divide the seeds among processes."""
    all_seeds = list(seeds)
    return [all_seeds[place::jobs] for place in range(jobs)]
