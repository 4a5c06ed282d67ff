"""A turn as data: the rows it leaves, the order of its results, what its records say."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

from wakeful import ActionContext, Agent, action
from wakeful.testing import Database, Gate, ScriptedModel, TurnResult, run_turn, say, shown
from wakeful.types import ActionError, Result, RunStatus, Text, Trust

Turn = Callable[..., TurnResult]


@action(effect="read", output_trust="trusted")
async def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first.
        b: the second.
    """
    return a + b


@action(effect="read", output_trust="trusted")
async def customer(name: str) -> str:
    """Look a customer up.

    Args:
        name: who.
    """
    raise ActionError(
        "NO_SUCH_CUSTOMER", f"nobody is called {name}", retryable=False, suggested=["Ada", "Ann"]
    )


@action(effect="read")
async def broken() -> str:
    """Fail in a way nobody planned."""
    raise KeyError("shelf 7")


async def heard(stream: Any) -> list[Any]:
    return [event async for event in stream]


def kinds(result: TurnResult) -> list[str]:
    return [row.kind.value for row in result.rows]


def test_a_turn_leaves_its_rows_in_order_without_gaps(run_turn: Turn) -> None:
    result = run_turn(
        Agent(model="", actions=[add], instructions="Be brief."),
        "What is 1 + 2?",
        replies=[say("Let me see.", calls=[("add", {"a": 1, "b": 2})]), "It is 3."],
    )
    assert result.answer.text == "It is 3."
    assert result.answer.status is RunStatus.COMPLETED
    assert kinds(result) == ["user", "assistant", "result", "assistant"]
    assert [row.seq for row in result.rows] == [1, 2, 3, 4]
    assert [row.step for row in result.rows] == [0, 1, 1, 2]
    assert shown(result.rows[2].items[0]) == "## Add ✓\n**Result:** SUCCESS\n**Output:**\n- `result`: 3"
    assert result.rows[2].meta["message_type"] == "action-result"
    assert result.rows[2].meta["turn_added"] == 1
    first, second = result.requests
    assert first.system == ("Be brief.",)
    assert [tool.name for tool in first.tools] == ["add"]
    assert first.items == (Text("user", "What is 1 + 2?"),)
    assert second.items[:1] == first.items
    assert len(second.items) == 4


def test_a_conversation_goes_on_with_the_next_turn(run_turn: Turn) -> None:
    result = run_turn(Agent(model=""), "Hello", "And again", replies=["Hi.", "Hi again."])
    assert [answer.text for answer in result.answers] == ["Hi.", "Hi again."]
    assert [row.seq for row in result.rows] == [1, 2, 3, 4]
    assert [row.turn for row in result.rows] == [1, 1, 2, 2]
    assert [shown(item) for item in result.requests[1].items] == ["Hello", "Hi.", "And again"]


def test_records_and_rows_agree(run_turn: Turn, store: Database) -> None:
    run_turn(
        Agent(model="", actions=[add]),
        "Go",
        user="ana",
        replies=[
            say(calls=[("add", {"a": "1", "b": 2})], usage={"uncached": 10, "output": 5, "cost": 0.5}),
            say("3", usage={"read": 8, "uncached": 4, "output": 1}),
        ],
    )
    (run,) = store.rows("select * from run")
    assert (run["status"], run["text"], run["user"], run["steps"]) == ("completed", "3", "ana", 2)
    assert (run["tokens_read"], run["tokens_uncached"], run["tokens_output"], run["cost"]) == (8, 14, 6, 0.5)
    assert run["ended_at"]
    steps = store.rows("select number, status, ended_at from step order by number")
    assert [(step["number"], step["status"]) for step in steps] == [(1, "closed"), (2, "closed")]
    assert all(step["ended_at"] for step in steps)
    (call,) = store.rows("select * from action_call")
    assert (call["key"], call["status"], call["verdict"], call["code"]) == (
        "run-1/1/0",
        "done",
        "allow",
        "SUCCESS",
    )
    assert json.loads(call["args"]) == {"a": 1, "b": 2}
    assert json.loads(call["result"])["outputs"] == {"result": 3}
    assert call["result_seq"] == 3
    calls = store.rows("select kind, stop, fingerprint from model_call order by id")
    assert [(each["kind"], each["stop"]) for each in calls] == [("step", "calls"), ("step", "end")]
    assert all(len(each["fingerprint"]) == 64 for each in calls)


async def test_results_stand_in_call_order_whatever_ends_first(wakeful_app: Any) -> None:
    gates = {name: Gate() for name in "abc"}

    @action(effect="read", output_trust="trusted")
    async def wait_for(gate: str) -> str:
        """Wait at a gate.

        Args:
            gate: which.
        """
        await gates[gate].wait()
        return gate

    calls = [("wait_for", {"gate": name}) for name in "abc"]
    model = ScriptedModel([say(calls=calls), "Done."])
    async with wakeful_app(Agent(model=model, actions=[wait_for])) as app:
        listening = asyncio.ensure_future(heard(app.stream("agent", "Go")))
        for name in "cab":  # all three stand at their gates before the first may go on
            await gates[name].reached()
        for name in "cab":
            gates[name].open()
        events = await listening
    texts = [shown(item) for item in model.requests[1].items[-3:]]
    assert [text[-1] for text in texts] == ["a", "b", "c"]
    ended = [event.invocation.index for event in events if type(event).__name__ == "ActionEnded"]
    assert ended == [0, 1, 2]


def test_an_unknown_tool_is_answered_and_the_turn_goes_on(run_turn: Turn) -> None:
    result = run_turn(Agent(model="", actions=[add]), "Go", replies=[say(calls=["ad"]), "Sorry."])
    (ended,) = result.calls
    assert ended.result.code == "UNKNOWN_TOOL"
    assert "**Did you mean:** `add`" in ended.text
    assert result.answer.text == "Sorry."


def test_an_unknown_argument_is_refused_before_the_action_runs(run_turn: Turn, store: Database) -> None:
    ran: list[int] = []

    @action(effect="read")
    async def count(to: int) -> int:
        """Count.

        Args:
            to: how far.
        """
        ran.append(to)
        return to

    result = run_turn(
        Agent(model="", actions=[count]),
        "Go",
        replies=[
            say(calls=[("count", {"to": 1, "too": 2}), ("count", "{broken"), ("count", {"to": "3"})]),
            "Done.",
        ],
    )
    assert ran == [3]
    codes = [ended.result.code for ended in result.calls]
    assert codes == ["UNKNOWN_ARGUMENT", "INVALID_JSON", "SUCCESS"]
    statuses = [row["status"] for row in store.rows("select status from action_call order by index_")]
    assert statuses == ["refused", "refused", "done"]


def test_an_action_fails_with_its_own_code_and_words(run_turn: Turn) -> None:
    result = run_turn(
        Agent(model="", actions=[customer, broken]),
        "Go",
        replies=[say(calls=[("customer", {"name": "Adda"}), "broken"]), "Done."],
    )
    known, unplanned = result.calls
    assert known.result.code == "NO_SUCH_CUSTOMER"
    assert known.text.startswith(
        "## Customer ✗\n**Result:** NO_SUCH_CUSTOMER — nobody is called Adda\n**Retryable:** no"
    )
    assert "`Ada`, `Ann`" in known.text
    assert unplanned.result.code == "ERROR"
    assert "KeyError" in unplanned.text
    assert unplanned.result.trust is Trust.UNTRUSTED
    failed = [item.failed for row in result.rows for item in row.items if isinstance(item, Result)]
    assert failed == [True, True]


def test_a_plain_function_runs_beside_the_loop(run_turn: Turn) -> None:
    @action(effect="read", output_trust="trusted")
    def where() -> bool:
        """Say whether this is the main thread."""
        return threading.current_thread() is threading.main_thread()

    result = run_turn(Agent(model="", actions=[where]), "Go", replies=[say(calls=["where"]), "Done."])
    assert result.calls[0].result.outputs == {"result": False}


def test_max_executions_counts_over_steps_and_within_one(run_turn: Turn) -> None:
    ran: list[str] = []

    @action(effect="read", output_trust="trusted", max_executions=2)
    async def ping() -> str:
        """Ping."""
        ran.append("ping")
        return "pong"

    result = run_turn(
        Agent(model="", actions=[ping]),
        "Go",
        replies=[say(calls=["ping"]), say(calls=["ping", "ping"]), say(calls=["ping"]), "Done."],
    )
    assert len(ran) == 2
    assert [ended.result.code for ended in result.calls] == [
        "SUCCESS",
        "SUCCESS",
        "LIMIT_REACHED",
        "LIMIT_REACHED",
    ]


def test_refused_calls_do_not_use_up_max_executions(run_turn: Turn) -> None:
    @action(effect="read", output_trust="trusted", max_executions=1)
    async def echo(text: str) -> str:
        """Echo.

        Args:
            text: what.
        """
        return text

    calls = [("echo", {"txt": "a"}), ("echo", {"text": "b"}), ("echo", {"text": "c"})]
    result = run_turn(Agent(model="", actions=[echo]), "Go", replies=[say(calls=calls), "Done."])
    assert [ended.result.code for ended in result.calls] == ["UNKNOWN_ARGUMENT", "SUCCESS", "LIMIT_REACHED"]


def test_max_executions_counts_anew_in_the_next_run(run_turn: Turn) -> None:
    @action(effect="read", output_trust="trusted", max_executions=1)
    async def ping() -> str:
        """Ping."""
        return "pong"

    replies = [say(calls=["ping"]), "Done.", say(calls=["ping"]), "Done."]
    result = run_turn(Agent(model="", actions=[ping]), "Go", "Again", replies=replies)
    assert [ended.result.code for ended in result.calls] == ["SUCCESS", "SUCCESS"]


def test_min_executions_unmet_flags_the_run(run_turn: Turn, store: Database) -> None:
    @action(effect="read", output_trust="trusted", min_executions=2)
    async def check() -> str:
        """Check."""
        return "fine"

    agent = Agent(model="", actions=[check])
    result = run_turn(
        agent, "Go", "Go", replies=[say(calls=["check"]), "Done.", say(calls=["check"] * 2), "Ok"]
    )
    lacking, met = result.answers
    assert lacking.status is RunStatus.COMPLETED
    assert lacking.error == "check ran 1 times and had to run 2"
    assert met.error == ""
    assert [row["error"] for row in store.rows("select error from run order by id")] == [lacking.error, ""]


def test_an_action_gets_its_context_and_its_key(run_turn: Turn) -> None:
    @action(effect="read", output_trust="trusted")
    async def who(ctx: ActionContext) -> dict[str, Any]:
        """Say who asks."""
        return {"user": ctx.run.user, "key": ctx.key, "conversation": ctx.run.conversation}

    result = run_turn(
        Agent(model="", actions=[who]), "Go", user="ana", replies=[say(calls=["who", "who"]), "Done."]
    )
    first, second = (ended.result.outputs["result"] for ended in result.calls)
    assert first == {"user": "ana", "key": "run-1/1/0", "conversation": "conv-1"}
    assert second["key"] == "run-1/1/1"


def test_a_large_result_is_kept_beside_the_database(run_turn: Turn, store: Database) -> None:
    @action(effect="read", output_trust="trusted")
    async def dump() -> str:
        """Dump."""
        return "x" * 60_000

    result = run_turn(Agent(model="", actions=[dump]), "Go", replies=[say(calls=["dump"]), "Done."])
    (call,) = store.rows("select result, success from action_call")
    assert "xxx" not in call["result"]
    (kept,) = store.rows("select ref, conversation_id from content")
    assert kept["ref"] in call["result"]
    assert kept["conversation_id"] == "conv-1"
    assert "x" * 60_000 in result.calls[0].text


def test_broken_text_is_stored_and_sent_as_valid_text(run_turn: Turn) -> None:
    result = run_turn(
        Agent(model="", actions=[add]),
        "lone \ud800 and nul \0",
        replies=[say("reply \udfff", calls=[("add", {"a": 1, "b": 2})]), "Done \ud800"],
    )
    assert result.rows[0].text == "lone � and nul �"
    for row in result.rows:
        row.text.encode()
    for request in result.requests:
        request.canonical().encode()
    assert result.answer.text.encode()


def test_run_turn_without_fixtures_needs_nothing(tmp_path: Any) -> None:
    assert run_turn(Agent(model="", folder=tmp_path), "Hi", replies=["Hello."]).answer.text == "Hello."
