"""What must be true of a run after it was killed, however often and wherever."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from attrs import frozen
from sqlalchemy import Connection, select

from tests.durability.world import CONVERSATION, DECIDED, FINAL, STEPS, WAITING, token
from wakeful.loop.transcript import load_rows
from wakeful.store.tables import action_call, run, step
from wakeful.store.verify import verify
from wakeful.store.work import inbox, work_item
from wakeful.testing.wire.canon import BadRequestError
from wakeful.testing.wire.canonical_anthropic import check_anthropic
from wakeful.testing.wire.canonical_openai import check_chat, check_responses
from wakeful.types import Call, Item, Result, Row, RowKind, Text

#: Actions that must not run twice.
ONCE = {"pay"}


@frozen
class Evidence:
    """What the world saw.

    Args:
        effects: how often each call took effect, by ``action key``.
        settled: for each kill, the calls whose results were stored by then, with their effects so far.
        torn: the calls that had begun, or might have, and had no result when a process was killed.
        kills: how many processes were killed.
    """

    effects: Mapping[str, int]
    settled: Sequence[Mapping[str, int]]
    torn: Sequence[str]
    kills: int


def judge(conn: Connection, evidence: Evidence) -> list[str]:
    """Return what is wrong; empty if everything is as promised."""
    rows = load_rows(conn, CONVERSATION)
    calls = {call["key"]: dict(call) for call in conn.execute(select(action_call)).mappings()}
    return [
        *(str(problem) for problem in verify(conn)),
        *_run(conn),
        *_work(conn),
        *_transcript(rows),
        *_legal([item for row in rows for item in row.items]),
        *_effects(calls, evidence),
        *_ends(calls, evidence),
        *_results(rows, calls),
    ]


def _run(conn: Connection) -> Iterator[str]:
    for found in conn.execute(select(run)).mappings():
        if (found["status"], found["text"], found["error"]) != ("completed", FINAL, ""):
            yield f"the run is {found['status']} with {found['text']!r} {found['error']!r}"
    statuses = conn.execute(select(step.c.status)).scalars().all()
    if set(statuses) != {"closed"}:
        yield f"steps are {sorted(statuses)}"


def _work(conn: Connection) -> Iterator[str]:
    own = select(work_item.c.status).where(work_item.c.kind != "expire")  # cancelled by the decision, or left
    statuses = Counter(conn.execute(own).scalars())
    if set(statuses) - {"done"}:
        yield f"work items are {dict(statuses)}"
    if conn.execute(select(inbox.c.id).where(inbox.c.taken == 0)).first():
        yield "an input was not taken"


def _transcript(rows: Sequence[Row]) -> Iterator[str]:
    if [row.seq for row in rows] != list(range(1, len(rows) + 1)):
        yield f"sequences are {[row.seq for row in rows]}"
    replies = Counter(row.step for row in rows if row.kind is RowKind.ASSISTANT)
    twice = [number for number, count in replies.items() if count > 1]
    if twice:
        yield f"steps {twice} have more than one reply"
    said = [row.text for row in rows if row.kind is RowKind.ASSISTANT]
    expected = [f"Step {number}." for number, calls in enumerate(STEPS, 1) if calls]
    if [text for text in said if text != WAITING] != [*expected, FINAL]:
        yield f"the model said {said}"  # that it waits, only if nobody had decided by then
    late = [row for row in rows if row.kind is RowKind.LATE_RESULT]
    if len(late) != 1 or not late[0].text.startswith(DECIDED):
        yield f"{len(late)} late results instead of one"
    for row, following in pairwise(rows):
        if row.calls and following.kind is not RowKind.RESULT:
            yield f"row {row.seq} has calls and is followed by a row of kind {following.kind.value}"
    expected = [call.id for row in rows for call in row.calls]
    answered = [item.call_id for row in rows for item in row.items if isinstance(item, Result)]
    if expected != answered:
        yield f"calls {expected} are answered as {answered}"


def _legal(items: Sequence[Item]) -> Iterator[str]:
    try:
        check_anthropic({"max_tokens": 1, "messages": list(_messages(items))})
        check_chat({"messages": list(_chat(items))})
        check_responses([_response(item) for item in items])
    except BadRequestError as error:
        yield f"the transcript is not legal: {error}"
    roles = [_role(item) for item in items]
    blocks = [role for place, role in enumerate(roles) if not place or roles[place - 1] != role]
    if blocks[0] != "user" or blocks[-1] != "assistant":
        yield f"roles are {blocks}"


def _role(item: Item) -> str:
    return "assistant" if isinstance(item, Call) else getattr(item, "role", "user")


def _messages(items: Sequence[Item]) -> Iterator[dict[str, Any]]:
    """Group the items as Anthropic's messages."""
    role, content = "", list[Any]()
    for item in items:
        if _role(item) != role and content:
            yield {"role": role, "content": content}
            content = []
        role = _role(item)
        if isinstance(item, Call):
            content.append(
                {"type": "tool_use", "id": item.id, "name": item.tool, "input": json.loads(item.args)}
            )
        elif isinstance(item, Result):
            content.append({"type": "tool_result", "tool_use_id": item.call_id, "content": item.text})
        elif isinstance(item, Text):
            content.append({"type": "text", "text": item.text})
    yield {"role": role, "content": content}


def _chat(items: Sequence[Item]) -> Iterator[dict[str, Any]]:
    """Group the items as messages of Chat Completions: text and calls of a reply are one."""
    message: dict[str, Any] = {}
    for item in items:
        if isinstance(item, Call) and message.get("role") == "assistant":
            message.setdefault("tool_calls", []).append({"id": item.id})
            continue
        if message:
            yield message
        if isinstance(item, Result):
            message = {"role": "tool", "tool_call_id": item.call_id, "content": item.text}
        elif isinstance(item, Call):
            message = {"role": "assistant", "tool_calls": [{"id": item.id}]}
        else:
            message = {"role": _role(item), "content": getattr(item, "text", "")}
    yield message


def _response(item: Item) -> dict[str, Any]:
    if isinstance(item, Call):
        return {"type": "function_call", "call_id": item.id, "name": item.tool, "arguments": item.args}
    if isinstance(item, Result):
        return {"type": "function_call_output", "call_id": item.call_id, "output": item.text}
    return {"role": _role(item), "content": getattr(item, "text", "")}


def _effects(calls: Mapping[str, Mapping[str, Any]], evidence: Evidence) -> Iterator[str]:
    for named, count in evidence.effects.items():
        name, key = named.split(" ", 1)
        most = 1 if name in ONCE else 1 + evidence.kills
        if count > most:
            yield f"{name} took effect {count} times ({key})"
        if key not in calls:
            yield f"{name} took effect and no call {key} is stored"
    for settled in evidence.settled:
        for named, before in settled.items():
            if evidence.effects.get(named, 0) != before:
                yield f"{named} was finished and ran again"


def _ends(calls: Mapping[str, Mapping[str, Any]], evidence: Evidence) -> Iterator[str]:
    for key, call in calls.items():
        count = evidence.effects.get(f"{call['action']} {key}", 0)
        if call["status"] not in {"done", "unknown", "denied"}:
            yield f"call {key} is {call['status']}"
        if (call["status"] == "done" and not count) or (call["status"] == "denied" and count):
            yield f"call {key} is {call['status']} and took effect {count} times"
        torn = key in evidence.torn and call["action"] in ONCE
        if torn != (call["status"] == "unknown") or torn != (call["code"] == "OUTCOME_UNKNOWN"):
            yield f"call {key} is {call['status']} {call['code']}; it was{'' if torn else ' not'} interrupted"


def _results(rows: Sequence[Row], calls: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    text = "\n".join(row.text for row in rows)
    for key, call in calls.items():
        seen = text.count(token(key))
        if seen != (call["status"] == "done"):
            yield f"the result of {key} ({call['status']}) is in the transcript {seen} times"
    unknown = sum(call["status"] == "unknown" for call in calls.values())
    if text.count("OUTCOME_UNKNOWN") != unknown:
        yield f"{unknown} calls are unknown, {text.count('OUTCOME_UNKNOWN')} told so"
