"""Everything the loop writes, one function per transaction, in the order that survives a crash.

For each step: reply with its assistant row | plan with verdicts and intents | each raw result |
frozen rows in call order with plugin state. A transaction is one trip to the writer thread. The result of a
call that is alone in its step and may run again goes with the rows, where no stage comes between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import frozen
from sqlalchemy import update

from wakeful.loop.codec import dump_result, dump_sent
from wakeful.loop.entries import NOTHING, Asked, Made, call_columns, state_row, status_of, step_columns
from wakeful.loop.payloads import record_documents
from wakeful.loop.statements import (
    ADD_ACTION,
    ADD_CALL,
    ADD_STEP,
    END_RUN,
    PLAN_STEP,
    SET_RESULT,
    SET_SENT,
    SET_SEQ,
    SET_STEP,
    SETTLE_LETTERS,
    append_rows,
    guard,
    save_state,
    set_usage,
)
from wakeful.results.writing import SPOOL_BYTES
from wakeful.store.contents import keep
from wakeful.store.tables import action_call
from wakeful.types import (
    ActionResult,
    Answer,
    Clock,
    Json,
    Reply,
    Request,
    Row,
    RowKind,
    Run,
    Spooled,
    Trust,
    Tx,
    Usage,
    canonical,
    clean,
)

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from wakeful.loop.plan import Planned
    from wakeful.store.engine import Store


@frozen
class Journal:
    """Writes the records of runs."""

    store: Store
    clock: Clock

    async def reply(
        self, run_: Run, asked: Asked, request: Request, reply: Reply, made: Made
    ) -> tuple[Row, ...]:
        """Store a reply: sent state if it is kept, the assistant row, usage, the fingerprint."""
        now = self.clock.now()
        rows = [state_row(run_, request.keep, asked)] if request.keep else []
        # Fragments are not rows, nor is what a provider looks up: it counts from here on by the reply.
        seen = max((asked.trust, asked.source), (reply.trust, reply.source), key=lambda each: each[0])
        rows.append(Row(0, RowKind.ASSISTANT, reply.items, run_.id, run_.turn, run_.step, *seen))

        def write(conn: Connection) -> tuple[Row, ...]:
            set_usage(conn, run_)
            numbered = append_rows(conn, run_, rows, now)
            values = step_columns(run_, asked, status_of(reply), reply.usage, numbered[-1].seq, now)
            ADD_STEP.run(conn, values | {"name": made.name})
            ADD_CALL.run(conn, call_columns(run_, asked, now, reply))
            save_state(conn, run_.conversation, made.puts)
            record_documents(conn, run_, made.puts)
            if request.sent is not None:
                which = {"conversation_": run_.conversation, "agent_": run_.agent.name, "id_": run_.epoch.id}
                SET_SENT.run(conn, which | {"sent_": dump_sent(request.sent)})
            return numbered

        return await self.store.write(write)

    async def proposed(
        self, run_: Run, made: Made, reply: Reply, trust: Trust, source: str
    ) -> tuple[Row, ...]:
        """Store a step that the agent's type proposed: the assistant row and what the type saves."""
        now = self.clock.now()
        rows = [Row(0, RowKind.ASSISTANT, reply.items, run_.id, run_.turn, run_.step, trust, source)]

        def write(conn: Connection) -> tuple[Row, ...]:
            set_usage(conn, run_)
            numbered = append_rows(conn, run_, rows, now)
            values = step_columns(
                run_, Asked("step", now, ""), status_of(reply), reply.usage, numbered[0].seq, now
            )
            ADD_STEP.run(conn, values | {"type": made.type, "name": made.name})
            save_state(conn, run_.conversation, made.puts)
            record_documents(conn, run_, made.puts)
            return numbered

        return await self.store.write(write)

    async def append(self, run_: Run, rows: Sequence[Row]) -> tuple[Row, ...]:
        """Append rows that belong to no reply."""
        now = self.clock.now()

        def write(conn: Connection) -> tuple[Row, ...]:
            guard(conn, run_)
            return append_rows(conn, run_, rows, now)

        return await self.store.write(write)

    async def side_call(
        self, run_: Run, asked: Asked, reply: Reply | None, error: str = "", *, lost: Usage = NOTHING
    ) -> None:
        """Store a model call that adds no rows: a question of a plugin, an empty or failed reply."""
        now = self.clock.now()

        def write(conn: Connection) -> None:
            set_usage(conn, run_, step=False)
            ADD_CALL.run(conn, call_columns(run_, asked, now, reply, error, lost))

        await self.store.write(write)

    async def failed_step(
        self, run_: Run, asked: Asked, status: str, error: str, lost: Usage = NOTHING
    ) -> None:
        """Store a step whose model call gave no reply, failed or cancelled, with what it used."""
        now = self.clock.now()

        def write(conn: Connection) -> None:
            set_usage(conn, run_)
            values = step_columns(run_, asked, status, lost, 0, now) | {"error": error, "ended_at": now}
            ADD_STEP.run(conn, values)
            ADD_CALL.run(conn, call_columns(run_, asked, now, None, error, lost))

        await self.store.write(write)

    async def result(
        self,
        run_: Run,
        key: str,
        result: ActionResult,
        status: str = "done",
        puts: Sequence[tuple[str, str, Json]] = (),
    ) -> None:
        """Store one raw result as soon as it is there, with what its action put."""
        values, kept = await self.result_values(key, result, status, puts)
        await self.store.write(lambda conn: self.put_result(conn, run_, values, kept))

    def put_result(
        self, conn: Connection, run_: Run, values: Mapping[str, Json], kept: Sequence[str]
    ) -> None:
        """Store one raw result in a transaction, with what :meth:`result_values` said."""
        guard(conn, run_)
        SET_RESULT.run(conn, values)
        for each in kept:
            conn.execute(keep(run_.conversation, each))

    async def result_values(
        self, key: str, result: ActionResult, status: str, puts: Sequence[tuple[str, str, Json]]
    ) -> tuple[dict[str, Json], list[str]]:
        """Return the parameters of ``SET_RESULT`` and the contents that they refer to."""
        text = dump_result(result)
        ref = None
        if len(text) > SPOOL_BYTES:
            ref = await self.store.files.put(text.encode())
        kept = [ref] if ref else []
        kept += [value.ref for value in result.outputs.values() if isinstance(value, Spooled)]
        values = {
            "key_": key,
            "status_": status,
            "success_": result.success,
            "code_": result.code,
            "result_": None if ref else text,
            "ref_": ref,
            "puts_": canonical(clean([list(put) for put in puts])),
            "at_": self.clock.now(),
        }
        return values, kept

    async def unfinished(self, tx: Tx, key: str, result: ActionResult) -> None:
        """Store, in the closing transaction, that a call did not finish."""
        values = {"status": "cancelled", "success": False, "code": result.code, "result": dump_result(result)}
        where = action_call.c.key == key
        await tx.exec(update(action_call).where(where).values(**values, ended_at=self.clock.now()))

    def plan(self, conn: Connection, run_: Run, planned: Sequence[Planned], now: datetime) -> None:
        """Store the judged calls of a step, their arguments and keys, before any of them runs."""
        guard(conn, run_)
        ADD_ACTION.run_each(conn, [item.columns(run_, now) for item in planned])
        PLAN_STEP.run(conn, {"run_": run_.id, "number_": run_.step})

    def close(
        self,
        conn: Connection,
        run_: Run,
        rows: Sequence[Row],
        keys: Sequence[Sequence[str]],
        puts: Sequence[tuple[str, str, Json]],
        status: str,
        notices: Sequence[str],
    ) -> tuple[Row, ...]:
        """Store a step's frozen result rows and what plugins put, in call order.

        Args:
            conn: the closing transaction, in which the stages ran.
            run_: the run.
            rows: one row per call.
            keys: for each row the keys of the invocations it answers.
            puts: (plugin, key, value) in call order.
            status: ``closed`` or ``cancelled``.
            notices: what failed without breaking the step.
        """
        guard(conn, run_)
        now = self.clock.now()
        numbered = append_rows(conn, run_, rows, now)
        seqs = [{"key_": key, "seq_": row.seq} for row, of in zip(numbered, keys, strict=True) for key in of]
        SET_SEQ.run_each(conn, seqs)
        save_state(conn, run_.conversation, puts)
        record_documents(conn, run_, puts)
        values = {"run_": run_.id, "number_": run_.step, "status_": status, "error_": "", "at_": now}
        SET_STEP.run(conn, values | {"output_": canonical({"notices": list(notices)})})
        return numbered

    async def end(
        self, run_: Run, answer: Answer, also: Callable[[Connection, Answer], None] | None = None
    ) -> None:
        """Store how the run ended or that it waits for a person, and ``also`` what is due with it."""
        now = self.clock.now()
        final = not answer.status.parked
        values = {
            "run_": run_.id,
            "status_": answer.status.value,
            "disposition_": answer.disposition.value,
            "reaction_": answer.reaction,
            "text_": answer.text,
            "error_": answer.error,
            "at_": now if final else None,
        }

        letters = {
            "key_": run_.conversation,
            "run_": canonical({"run": run_.id}),
            "cancel_": canonical({"run": run_.id, "cancel": True}),
        }

        def write(conn: Connection) -> None:
            guard(conn, run_)
            END_RUN.run(conn, clean(values))
            SETTLE_LETTERS.run(conn, letters)
            if also is not None:
                also(conn, answer)

        await self.store.write(write)
