"""Measure a real engine: what llama.cpp reads again, and how long it takes to its first token.

    python plugins/cache/bench/local.py [--model llamacpp:default] [--rounds 3] [--json]

A conversation of six steps with state that changes in each, once with the cache plugin and once with a layout
that puts the state into the system text, in turn, round after round. ``read`` is the engine's own
``cached_tokens`` as a share of what was sent before, ``anew`` the tokens that it had to work through, and the
first token is timed from the start of the step: all from step 2 on, the least share and medians of rounds.
Times waver on a busy machine, tokens do not. It needs wakeful-llamacpp and a model (its README says which).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attrs import evolve

import wakeful
from wakeful import hookimpl
from wakeful.prompt import PlainLayout, state_block
from wakeful.types import Draft, Fragment, Limits, ReplyReceived, Request, Run, StepStarted, TextDelta

STEPS = 6
ENGINE = {"threads": 1, "context": 8192, "max_tokens": 16, "extra": {"temperature": 0, "seed": 1}}
INSTRUCTIONS = "You are the desk of Ada Ltd. Answer in one short sentence. " + "Be exact about numbers. " * 20
QUESTION = (
    "Step {n}: a customer writes that invoice {n}12 of Bolt Ltd is still open, that the goods came late, that"
    " two of the nine boxes were damaged, and that they would pay the rest at once if somebody called them."
    " Their last three invoices were paid in time, the one before it eleven days late. What should we do"
    " next, who should do it, and by when?"
)
#: State that was there before and stays as it is.
STANDING = 16


class Notes:
    """State that changes with every step."""

    name = "notes"

    @hookimpl
    def prompt_state(self, run: Run) -> list[Fragment]:
        """Give the time, a counter and what was noted so far."""
        known = [Fragment(f"customer {n}", 3, f"pays after {n + 9} days, by wire") for n in range(STANDING)]
        notes = [Fragment(f"note {n}", 10 + n, f"turn {n}: Bolt Ltd was called") for n in range(1, run.turn)]
        return [Fragment("time", 1, f"09:{run.turn:02}"), Fragment("turns", 2, str(run.turn)), *known, *notes]


class _InSystem(PlainLayout):
    def compose(self, draft: Draft) -> Request:
        plain = super().compose(evolve(draft, state=()))
        return evolve(plain, system=(*plain.system, state_block(draft.state)))


class StateInSystem:
    """What many harnesses do: state as a part of the system prompt."""

    name = "instate"

    @hookimpl
    def prompt_layout(self) -> Any:
        """Fill the slot."""
        return _InSystem()


async def conversation(model: str, layout: Any, folder: str) -> list[dict[str, float]]:
    """Hold the conversation and return what each step took."""
    agent = wakeful.Agent(
        model=model,
        instructions=INSTRUCTIONS,
        plugins=[layout, Notes],
        settings={"llamacpp": ENGINE},
        limits=Limits(steps=1),
        folder=folder,
    )
    async with wakeful.open(agent) as app:
        if app.problems("agent"):
            raise SystemExit("; ".join(map(str, app.problems("agent"))))
        await app.send("agent", "Say hello.", conversation="conv-warm")
        return [await _step(app, QUESTION.format(n=number)) for number in range(1, STEPS + 1)]


async def _step(app: Any, text: str) -> dict[str, float]:
    began, first, usage = 0.0, 0.0, None
    async for event in app.stream("agent", text, conversation="conv-bench"):
        if isinstance(event, StepStarted):
            began = time.perf_counter()
        elif isinstance(event, TextDelta) and not first:
            first = time.perf_counter() - began
        elif isinstance(event, ReplyReceived):
            usage = event.reply.usage
    if usage is None or not first:
        raise SystemExit("the engine gave no reply")
    return {"ttft": first, "read": usage.read, "input": usage.input}


def shares(steps: list[dict[str, float]]) -> list[float]:
    """Return, from step 2 on, what was read as a share of what was sent before."""
    return [now["read"] / before["input"] for before, now in pairwise(steps)]


def _anew(step: dict[str, float]) -> float:
    return step["input"] - step["read"]


async def measured(model: str, rounds: int) -> dict[str, Any]:
    """Return the figures."""
    from wakeful_cache import Cache

    cached: list[list[dict[str, float]]] = []
    plain: list[list[dict[str, float]]] = []
    for _ in range(rounds):
        for layout, into in ((Cache, cached), (StateInSystem, plain)):
            with TemporaryDirectory() as folder:
                into.append(await conversation(model, layout, str(Path(folder))))
    rows = []
    for step in range(1, STEPS):
        mine, other = (statistics.median(run[step]["ttft"] for run in runs) for runs in (cached, plain))
        anew, all_anew = (statistics.median(_anew(run[step]) for run in runs) for runs in (cached, plain))
        rows.append(
            {
                "step": step + 1,
                "read_share": round(min(shares(run)[step - 1] for run in cached), 4),
                "anew": anew,
                "anew_state_in_system": all_anew,
                "ttft_ms": round(1000 * mine, 1),
                "ttft_state_in_system_ms": round(1000 * other, 1),
                "ratio": round(mine / other, 3),
            }
        )
    return {"model": model, "rounds": rounds, "rows": rows}


def main() -> None:
    """Measure and print; exits with 1 if a target is missed."""
    parser = argparse.ArgumentParser(description="What a real engine reads again.")
    parser.add_argument("--model", default="llamacpp:default")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one object")
    args = parser.parse_args()
    found = asyncio.run(measured(args.model, args.rounds))
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        print("                       with the cache plugin    state in the system text")
        print("step  read of sent      anew  first token        anew  first token   ratio")
        for row in found["rows"]:
            print(
                f"{row['step']:>4}  {row['read_share']:>12.1%}"
                f"{row['anew']:>10.0f}{row['ttft_ms']:>10.1f} ms"
                f"{row['anew_state_in_system']:>12.0f}{row['ttft_state_in_system_ms']:>10.1f} ms"
                f"{row['ratio']:>8.2f}"
            )
    good = all(row["read_share"] >= 0.95 and row["ratio"] < 0.5 for row in found["rows"])  # noqa: PLR2004  (what is promised)
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
