"""Looking back: runs with everything that is stored about them; what a check finds wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, delete, insert, update

from wakeful.store import records
from wakeful.store import tables as t
from wakeful.store.engine import Store
from wakeful.store.verify import CHUNK, verify
from wakeful.types import (
    Call,
    Disposition,
    Result,
    RowKind,
    RunStatus,
    Text,
    Trust,
    Usage,
    canonical,
    dump_item,
)

Opener = Callable[..., Awaitable[Store]]
AT = datetime(2026, 3, 1, tzinfo=UTC)


def row(seq: int, kind: str, *items: Any, run: str = "r-1", conversation: str = "c-1") -> dict[str, Any]:
    dumped = canonical([dump_item(item) for item in items])
    return {
        "conversation_id": conversation,
        "seq": seq,
        "kind": kind,
        "items": dumped,
        "run_id": run,
        "trust": 0,
        "source": "",
        "meta": "{}",
        "created_at": AT,
    }


def calls(*ids: str) -> tuple[Call, ...]:
    return tuple(Call(name, "look", "{}") for name in ids)


def add_conversation(
    conn: Connection, name: str, *, next_seq: int = 1, at: datetime = AT, **more: Any
) -> None:
    values = {"agent": "desk", "secret": "s", "created_at": AT, "updated_at": at, "next_seq": next_seq}
    conn.execute(insert(t.conversation).values(id=name, **values | more))


def add_run(conn: Connection, name: str, conversation: str = "c-1", **more: Any) -> None:
    values = {"agent": "desk", "status": "completed", "started_at": AT}
    conn.execute(insert(t.run).values(id=name, conversation_id=conversation, **values | more))


def talk(*rows: dict[str, Any], status: str = "completed") -> Callable[[Connection], None]:
    """Return a function that stores a conversation ``c-1`` of one run with ``rows``."""

    def add(conn: Connection) -> None:
        add_conversation(conn, "c-1", next_seq=len(rows) + 1)
        add_run(conn, "r-1", status=status)
        conn.execute(insert(t.message), list(rows))

    return add


def whole(conn: Connection) -> None:
    """Store one run with one step, one call and its answer."""
    add_conversation(conn, "c-1", next_seq=5, turns=1, user="ana")
    conn.execute(insert(t.declaration).values(digest="d", body="{}"))
    conn.execute(
        insert(t.epoch).values(
            conversation_id="c-1", agent="desk", id=1, reason="first turn", declaration="d", created_at=AT
        )
    )
    add_run(
        conn,
        "r-1",
        user="ana",
        turn=1,
        model="replay:x",
        text="Two.",
        epoch=1,
        steps=2,
        cost=0.5,
        tokens_read=7,
    )
    conn.execute(
        insert(t.message),
        [
            row(1, "user", Text("user", "How many?")),
            row(2, "assistant", *calls("a")),
            row(3, "result", Result("a", "2"))
            | {"trust": 2, "source": "action:look", "meta": '{"turn_added":1}'},
            row(4, "assistant", Text("assistant", "Two.")),
        ],
    )
    conn.execute(
        insert(t.step).values(
            run_id="r-1",
            number=1,
            type="model",
            status="closed",
            output='{"seq":2}',
            started_at=AT,
            ended_at=AT,
        )
    )
    reply = canonical([dump_item(call) for call in calls("a")])
    conn.execute(
        insert(t.model_call).values(
            run_id="r-1", step=1, kind="step", reply=reply, stop="calls", started_at=AT
        )
    )
    conn.execute(
        insert(t.action_call).values(
            key="r-1/1/0",
            run_id="r-1",
            step=1,
            call_id="a",
            tool="look",
            action="look",
            args='{"n":1}',
            verdict="allow",
            reasons='[["judge","allow","fine"]]',
            status="done",
            success=True,
            code="SUCCESS",
            result='{"success":true}',
            result_seq=3,
            started_at=AT,
            ended_at=AT + timedelta(seconds=2),
        )
    )


async def test_a_run_comes_back_with_everything(store: Store) -> None:
    await store.write(whole)
    found = await store.read(lambda conn: records.get_run(conn, "r-1"))
    assert found is not None
    run = found.run
    assert (run.id, run.conversation, run.user, run.turn) == ("r-1", "c-1", "ana", 1)
    assert (run.status, run.disposition) == (RunStatus.COMPLETED, Disposition.NOTIFY_USER)
    assert run.usage == Usage(read=7, cost=0.5)
    assert found.epoch_reason == "first turn"
    (step,) = found.steps
    assert (step.number, step.status, step.output) == (1, "closed", {"seq": 2})
    (asked,) = found.model_calls
    assert (asked.kind, asked.stop, asked.reply) == ("step", "calls", calls("a"))
    (done,) = found.action_calls
    assert (done.key, done.index, done.args, done.result) == ("r-1/1/0", 0, {"n": 1}, {"success": True})
    assert done.reasons == (("judge", "allow", "fine"),)
    assert [(each.seq, each.kind) for each in found.rows] == [
        (1, RowKind.USER),
        (2, RowKind.ASSISTANT),
        (3, RowKind.RESULT),
        (4, RowKind.ASSISTANT),
    ]
    assert found.rows[2].items == (Result("a", "2"),)
    assert (found.rows[2].trust, found.rows[2].source) == (Trust.UNTRUSTED, "action:look")
    assert found.rows[2].meta == {"turn_added": 1}


async def test_a_run_that_is_not_there_is_none(store: Store) -> None:
    assert await store.read(lambda conn: records.get_run(conn, "r-1")) is None


async def test_lists_are_newest_first_filtered_and_bounded(store: Store) -> None:
    def add(conn: Connection) -> None:
        for number in range(4):
            add_conversation(conn, f"c-{number}", at=AT + timedelta(days=number), agent="ab"[number % 2])
            add_run(
                conn,
                f"r-{number}",
                f"c-{number}",
                agent="ab"[number % 2],
                started_at=AT + timedelta(days=number),
                status="failed" if number == 3 else "completed",
            )

    await store.write(add)

    async def listed(**options: Any) -> list[str]:
        return [run.id for run in await store.read(lambda conn: records.list_runs(conn, **options))]

    assert await listed() == ["r-3", "r-2", "r-1", "r-0"]
    assert await listed(limit=2) == ["r-3", "r-2"]
    assert await listed(agent="a") == ["r-2", "r-0"]
    assert await listed(conversation="c-1") == ["r-1"]
    assert await listed(status="failed", agent="b") == ["r-3"]
    assert await store.read(lambda conn: records.run_ids(conn, 3)) == ("r-3", "r-2", "r-1")
    found = await store.read(lambda conn: records.list_conversations(conn, agent="b"))
    assert [each.id for each in found] == ["c-3", "c-1"]
    assert found[0].rows == 0


async def test_rows_can_be_read_in_parts(store: Store) -> None:
    await store.write(whole)
    part = await store.read(lambda conn: records.messages(conn, "c-1", after=1, limit=2))
    assert [each.seq for each in part] == [2, 3]


async def problems(store: Store) -> list[str]:
    return [str(problem) for problem in await store.read(lambda conn: list(verify(conn)))]


async def test_a_healthy_database_has_no_problems(store: Store) -> None:
    await store.write(whole)
    assert await problems(store) == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [row(1, "assistant", *calls("a", "b")), row(2, "result", Result("a", ""))],
            ["call 'b' of row 1 has no result (run r-1)"],
        ),
        (
            [row(1, "assistant", *calls("a")), row(2, "assistant", Text("assistant", "so"))],
            ["call 'a' of row 1 has no result (run r-1)"],
        ),
        (
            [
                row(1, "assistant", *calls("a")),
                row(2, "result", Result("a", "")),
                row(3, "result", Result("a", "")),
            ],
            ["row 3 answers call 'a', which no row before it waits for (run r-1)"],
        ),
        (
            [
                row(1, "assistant", *calls("a", "b")),
                row(2, "result", Result("b", "")),
                row(3, "result", Result("a", "")),
            ],
            ["row 2 answers call 'b' before the calls in front of it (run r-1)"],
        ),
        (
            [
                row(1, "result", Result("a", "")),
                row(2, "assistant", *calls("a")),
                row(3, "result", Result("a", "")),
            ],
            ["row 1 answers call 'a', which no row before it waits for (run r-1)"],
        ),
        # An id that comes again in a later step is a new call.
        (
            [
                row(1, "assistant", *calls("a")),
                row(2, "result", Result("a", "")),
                row(3, "assistant", *calls("a")),
                row(4, "steer", Text("user", "only EMEA")),
                row(5, "result", Result("a", "")),
            ],
            [],
        ),
    ],
    ids=["lost at the end", "lost before a reply", "twice", "swapped", "too early", "same id again"],
)
async def test_every_call_has_exactly_one_result(
    store: Store, rows: list[dict[str, Any]], said: list[str]
) -> None:
    await store.write(talk(*rows))
    assert await problems(store) == [f"conversation c-1: {line}" for line in said]


@pytest.mark.parametrize("status", ["running", "awaiting_approval", "awaiting_feedback"])
async def test_calls_of_a_run_that_goes_on_may_wait(store: Store, status: str) -> None:
    await store.write(talk(row(1, "assistant", *calls("a")), status=status))
    assert await problems(store) == []


async def test_gaps_are_named(store: Store) -> None:
    many = [row(seq, "user", Text("user", "x")) for seq in range(1, 3 * CHUNK)]
    await store.write(talk(*many))
    assert await problems(store) == []
    c = t.message.c

    def damage(conn: Connection) -> None:
        conn.execute(delete(t.message).where(c.seq.in_((1, CHUNK, CHUNK + 1))))
        conn.execute(update(t.conversation).values(next_seq=7))

    await store.write(damage)
    assert await problems(store) == [
        "conversation c-1: row 1 is missing; row 2 follows row 0",
        f"conversation c-1: row {CHUNK} is missing; row {CHUNK + 2} follows row {CHUNK - 1}",
        f"conversation c-1: the next row would be 7, but should be {3 * CHUNK}",
    ]


async def test_every_conversation_is_looked_at(store: Store) -> None:
    def add(conn: Connection) -> None:
        for number in range(CHUNK + 3):
            add_conversation(conn, f"c-{number:05}", next_seq=2 if number in {0, CHUNK + 2} else 1)

    await store.write(add)
    assert await problems(store) == [
        "conversation c-00000: the next row would be 2, but should be 1",
        f"conversation c-{CHUNK + 2:05}: the next row would be 2, but should be 1",
    ]
