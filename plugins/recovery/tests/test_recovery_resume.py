"""A run that another application takes up goes on counting where it was."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select, update

from wakeful import Agent, hookimpl
from wakeful.store.tables import plugin_state
from wakeful.testing import ScriptedModel, say
from wakeful.types import (
    ApprovalRequest,
    Invocation,
    Json,
    Judgement,
    Run,
    RunStatus,
    Services,
    Tx,
    Verdict,
    canonical,
)

WORKER = Path(__file__).with_name("breaker_worker.py")


class Careful:
    """Holds every order for a person; keeps the requests in its state."""

    name = "careful"

    def __init__(self, settings: None, services: Services) -> None:
        self.services = services

    @hookimpl
    def policy_verdict(self, proposal: Invocation) -> Judgement | None:
        return Judgement(Verdict.REQUIRE_APPROVAL) if proposal.action == "place_order" else None

    @hookimpl
    def policy_approvals(self) -> Any:
        return self

    async def ask(self, tx: Tx, run: Run, inv: Invocation, judgement: Judgement) -> ApprovalRequest:
        values = [inv.key, inv.key, run.id, inv.action, inv.args, "", "pending"]
        where = {"conversation_id": run.conversation, "plugin": self.name, "key": inv.key}
        await tx.exec(insert(plugin_state).values(**where, value=canonical(values)))
        return ApprovalRequest(*values)

    async def pending(self, run_id: str) -> Sequence[ApprovalRequest]:
        rows = await self.services.read(
            select(plugin_state.c.value).where(plugin_state.c.plugin == self.name)
        )
        found = [ApprovalRequest(*json.loads(row[0])) for row in rows]
        return [each for each in found if each.status == "pending"]

    async def settle(
        self, tx: Tx, request_id: str, *, yes: bool, by: str, args: Json = None
    ) -> ApprovalRequest | None:
        where = plugin_state.c.key == request_id
        ((value,),) = await tx.all(select(plugin_state.c.value).where(where))
        values = [*json.loads(value)[:-1], "approved" if yes else "rejected"]
        await tx.exec(update(plugin_state).where(where).values(value=canonical(values)))
        return ApprovalRequest(*values)


def calls(text: str) -> Any:
    tool, item = text.split()
    return say(calls=[(tool, {"item": item})])


async def test_a_resumed_run_keeps_its_counts(wakeful_app: Any, shop: Any) -> None:
    shop.fails |= dict.fromkeys("abcde", ("OUT_OF_STOCK", None))
    shop.fails["z"] = ("NO_SUCH_ITEM", False)

    def agent(*replies: Any) -> Agent:
        model = ScriptedModel(list(replies))
        return Agent(model=model, actions=shop.actions(), plugins=["recovery", Careful])

    before = ["look_up a", "look_up a", "look_up b", "look_up c", "list_items z", "place_order x"]
    async with wakeful_app(agent(*map(calls, before), "Asked.")) as app:
        parked = await app.send("agent", "Go")
        assert parked.status is RunStatus.AWAITING_APPROVAL
    after = ["look_up a", "list_items z", "look_up d", "look_up ok"]
    async with wakeful_app(agent(*map(calls, after), "Done.")) as app:
        await app.approvals.reject(parked.pending[0], by="ana")
        answer = await app.resume(parked.run_id)
        assert answer.text == "Done."
        rows = await app.store.read(
            lambda conn: conn.exec_driver_sql("select code from action_call order by step").scalars().all()
        )
    assert rows[6:] == [
        "REPEATED_IDENTICAL_CALL",
        "REPEATED_IDENTICAL_CALL",
        "OUT_OF_STOCK",
        "ATTEMPTS_EXHAUSTED",
    ]
    assert [done for done in shop.done if done.endswith(("ok", "x"))] == []


def test_a_run_whose_process_is_killed_keeps_its_counts_in_another_one(tmp_path: Path) -> None:
    command = [sys.executable, str(WORKER), str(tmp_path)]
    killed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["text"] == "Done."
    assert told["codes"] == [
        *["OUT_OF_STOCK"] * 4,
        "MISSING_CREDENTIALS",
        "SUCCESS",
        "REPEATED_IDENTICAL_CALL",
        "ACTION_UNAVAILABLE",
        "OUT_OF_STOCK",
        "ATTEMPTS_EXHAUSTED",
    ]
    done = (tmp_path / "done").read_text().splitlines()
    assert done[-3:] == ["read_again now", "read_again now", "look_up d"], "nothing that is blocked ran"
