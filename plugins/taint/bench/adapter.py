"""Engines for a benchmark of tool policies: its facts become action declarations, its steps become rows.

An engine is ``decide(call, state)`` and gives a verdict, or a verdict and ``"staged"``; see the benchmark.
What decides is what users get: the shipped default policy, the plugin and the kernel's own judging.

    python adapter.py BENCHMARK_FOLDER [--later] [--list]
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from wakeful.plugins.hooks import AgentPlugins
from wakeful.policy import judge
from wakeful.types import (
    Action,
    ActionContext,
    ActionResult,
    AgentView,
    Call,
    Declared,
    Effect,
    Epoch,
    Invocation,
    Json,
    Judgement,
    Limits,
    Param,
    Result,
    Row,
    RowKind,
    Run,
    RunStatus,
    Text,
    Trust,
    Verdict,
)
from wakeful.types import Profile as ModelProfile
from wakeful_policy import Policy
from wakeful_policy.settings import PolicySettings
from wakeful_taint import Taint, TaintSettings

EFFECTS = {
    "read_internal": Effect.READ,
    "read_external": Effect.FETCH,
    "mutate_internal": Effect.WRITE,
    "external_irreversible": Effect.EXTERNAL,
}
TRUST = {"Trusted": Trust.TRUSTED, "SemiTrusted": Trust.SEMI_TRUSTED, "Untrusted": Trust.UNTRUSTED}
VERDICTS = {
    Verdict.ALLOW: "Allow",
    Verdict.AUTO_REVIEW: "AutoReview",
    Verdict.REQUIRE_APPROVAL: "RequireApproval",
    Verdict.DEFER: "Deny",
    Verdict.DENY: "Deny",
}
ROLES = ("destination", "object", "value", "content")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FACTS: dict[str, Any] = {}


async def nothing(args: Mapping[str, Json], context: ActionContext) -> ActionResult:  # noqa: ARG001  (never run)
    """Stand for what an action does."""
    return ActionResult()


class Fooled:
    """Leaves what should be reviewed as it is: how the judge is counted is the benchmark's business."""

    async def review(self, run: Run, inv: Invocation, judgement: Judgement) -> Judgement:  # noqa: ARG002  (the protocol)
        """Return a verdict that tells the adapter that a review was due."""
        return Judgement(Verdict.DEFER, judgement.reason, judgement.plugin, "REVIEW")


def facts(state: Any = None) -> Any:
    """Return the benchmark's facts about tools, read once, from where the module of ``state`` has them."""
    if not FACTS:
        homes = [sys.modules.get(cls.__module__) for cls in type(state).__mro__]
        known = [getattr(home, "DATA", None) for home in (*homes, sys.modules.get("bench"))]
        found = [folder for folder in known if folder is not None]
        if not found:
            raise FileNotFoundError("the benchmark's module bench is not imported; call load(folder) first")
        FACTS.update(json.loads((found[0] / "agentdojo_policy.json").read_text()))
    return FACTS


@cache
def action_of(suite: str, tool: str) -> Action:
    """Return the declaration that the facts about a tool amount to."""
    facts = FACTS[suite][tool]
    params = tuple(Param(role=role, name=name) for role in ROLES for name in facts[role])
    return Action(
        tool,
        facts["note"],
        {"type": "object"},
        nothing,
        tool_name=tool,
        effect=EFFECTS[facts["effect"]],
        output_trust=TRUST[facts["output_trust"]],
        external_if_present=tuple(facts["external_if_present"]),
        can_stage=facts["can_stage"],
        params=params,
    )


def run_of(state: Any, view: AgentView) -> Run:
    """Return the run that the benchmark's state describes, as the kernel would show it."""
    rows = [Row(1, RowKind.USER, (Text("user", state.earlier_text),), "r0", 1)] if state.earlier_text else []
    rows.append(Row(len(rows) + 1, RowKind.USER, (Text("user", state.user_text),), "r", 2))
    for number, step in enumerate(state.steps, 1):
        action = action_of(state.suite, step.tool)
        call = Call(f"c{number}", step.tool, json.dumps(step.args))
        answer = Result(call.id, step.output)
        source = f"action:{action.name}"
        rows.append(Row(len(rows) + 1, RowKind.ASSISTANT, (call,), "r", 2, number))
        rows.append(
            Row(len(rows) + 1, RowKind.RESULT, (answer,), "r", 2, number, action.output_trust, source)
        )
    return Run(
        id="r",
        agent=view,
        conversation="c",
        user="u",
        turn=2,
        step=len(state.steps) + 1,
        now=NOW,
        secret="",
        status=RunStatus.RUNNING,
        epoch=Epoch(1, "", Declared("replay:x", (), ())),
        rows=tuple(rows),
    )


def engine(profile: str) -> Callable[[dict[str, Any], Any], Any]:
    """Return ``decide`` of the shipped default policy and the plugin with a profile."""
    settings = TaintSettings(profile=profile)
    view = AgentView("agent", "replay:x", ModelProfile("replay", "x", 100_000), Limits())

    def decide(call: dict[str, Any], state: Any) -> Any:
        known = facts(state)[state.suite]
        services: Any = SimpleNamespace(catalogue=lambda _: {t: action_of(state.suite, t) for t in known})
        plugins = AgentPlugins(
            {"policy": Policy(PolicySettings(), services), "taint": Taint(settings, services)}
        )
        action = action_of(state.suite, call["tool"])
        proposal = Invocation(
            "r/1/0", Call("c", call["tool"], json.dumps(call["args"])), 0, 0, action.tool_name, call["args"]
        )
        (judged,) = asyncio.run(
            judge(plugins, Fooled(), run_of(state, view), [proposal], {action.tool_name: action})
        )
        if judged.judgement.code == "REVIEW":
            return "AutoReview", judged.reason
        if judged.judgement.verdict is Verdict.STAGE:
            return "Allow", "staged"
        return VERDICTS[judged.judgement.verdict], judged.reason

    return decide


def load(folder: Path) -> Any:
    """Read the benchmark's facts and return its module."""
    sys.path.insert(0, str(folder))
    bench = importlib.import_module("bench")
    facts()
    return bench


def balanced(call: dict[str, Any], state: Any) -> Any:
    """Decide as ``profile = "balanced"`` does."""
    return _ENGINES["balanced"](call, state)


def strict(call: dict[str, Any], state: Any) -> Any:
    """Decide as ``profile = "strict"`` does."""
    return _ENGINES["strict"](call, state)


def permissive(call: dict[str, Any], state: Any) -> Any:
    """Decide as ``profile = "permissive"`` does."""
    return _ENGINES["permissive"](call, state)


_ENGINES = {profile: engine(profile) for profile in ("balanced", "strict", "permissive")}


def main() -> None:
    """Print the benchmark's figures for each profile."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the benchmark: bench.py and, two folders up, data/")
    parser.add_argument("--live", action="store_true", help="real prompts and outputs; needs agentdojo")
    parser.add_argument(
        "--later", action="store_true", help="the tasks as later turns of tainted conversations"
    )
    parser.add_argument("--list", action="store_true", help="also list the calls that wait for a person")
    options = parser.parse_args()
    bench = load(options.folder)
    data = {suite: bench.load(suite, options.live) for suite in bench.SUITES}
    for decide in (balanced, strict, permissive):
        if options.later:
            print(decide.__name__, bench.run_later_turns(decide, bench.SUITES, data, FACTS))
            continue
        report, _, benign, _ = bench.evaluate(decide, data=data)
        print(decide.__name__, json.dumps(report["all"]))
        if options.list:
            for task in benign:
                waits = [
                    t for t, v in zip(task["tools"], task["verdicts"], strict=True) if v == "RequireApproval"
                ]
                print(" ", task["suite"], task["user"], waits) if waits else None


if __name__ == "__main__":
    main()
