"""What is said between the kernel and a harness: JSON objects, one on each line.

The kernel begins with ``turn`` and answers each step with ``results``; a message it cannot accept it answers
with ``error``. The harness sends ``step`` (text and calls), ``answer`` (the turn is over), ``wait`` (nothing
to do before a person decides) or ``log`` (for whoever debugs it; ignored).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from wakeful.types import (
    Action,
    Call,
    Did,
    Finish,
    Json,
    Next,
    Opaque,
    Propose,
    Result,
    Row,
    RowKind,
    Run,
    Text,
    Wait,
    canonical,
    clean,
    clean_text,
    nearest,
)

#: Version of what is said; a harness that does not know it should end.
PROTOCOL: Final = 1
KINDS: Final = ("step", "answer", "wait", "log")
#: Longest text of a step or answer; longer ones no person reads.
TEXT_CHARS: Final = 200_000
#: Characters of the name of an action that are looked at; no action's is longer than a third of it.
NAME_CHARS: Final = 200


class BadMessageError(Exception):
    """A message of the harness cannot be accepted; the text says why, and the harness is told it."""


def turn(run: Run, actions: Mapping[str, Action]) -> dict[str, Json]:
    """Return the message that begins a turn, or goes on with one that another process left."""
    return {
        "type": "turn",
        "protocol": PROTOCOL,
        "agent": run.agent.name,
        "run": run.id,
        "conversation": run.conversation,
        "user": run.user,
        "resumed": run.step > 0,
        "messages": [message for row in run.rows if (message := _message(row))],
        "actions": [
            {
                "name": name,
                "description": action.description,
                "schema": action.schema,
                "effect": action.effect.value,
            }
            for name, action in sorted(actions.items())
        ],
    }


def _message(row: Row) -> dict[str, Json] | None:
    if row.kind is RowKind.STATE:
        return None
    role = "assistant" if row.kind is RowKind.ASSISTANT else "user"
    said: dict[str, Json] = {"role": role, "kind": row.kind.value, "trust": row.trust.label}
    texts = [item.text for item in row.items if isinstance(item, Text)]
    calls = [item for item in row.items if isinstance(item, Call)]
    given = [item for item in row.items if isinstance(item, Result)]
    if all(isinstance(item, Opaque) for item in row.items):
        return None
    return {
        **said,
        "text": "\n".join(texts),
        "calls": [{"id": item.id, "action": item.tool, "args": item.args} for item in calls],
        "results": [{"id": item.call_id, "text": item.text} for item in given],
    }


def results(run: Run, did: Sequence[Did]) -> dict[str, Json]:
    """Return the message that tells what came of a step, as a model would read it."""
    texts = {
        item.call_id: (item.text, row.trust.label)
        for row in run.rows
        if row.run == run.id and row.step == run.step
        for item in row.items
        if isinstance(item, Result)
    }
    told = []
    for each in did:
        text, trust = texts.get(each.invocation.call.id, ("", "untrusted"))
        told.append(
            {
                "id": each.invocation.call.id,
                "action": each.invocation.action,
                "success": each.result.success,
                "code": each.result.code,
                "text": text,
                "trust": trust,
                "held": each.held,
            }
        )
    return {"type": "results", "results": told}


def read(line: str, run: Run, most: int) -> Next | None:
    """Return what a line of the harness means; None for a log.

    Args:
        line: as it was sent.
        run: the run; its step numbers the calls.
        most: calls that one step may have.

    Raises:
        BadMessageError: it is not acceptable.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        raise BadMessageError("expected one JSON object on each line") from None
    if not isinstance(message, dict) or message.get("type") not in KINDS:
        kind = message.get("type") if isinstance(message, dict) else message
        raise BadMessageError(f"unknown type {str(kind)[:40]!r}{nearest(str(kind)[:40], KINDS)}")
    kind = message["type"]
    text = message.get("text", "")
    if not isinstance(text, str) or len(text) > TEXT_CHARS:
        raise BadMessageError(f"text: expected a text of at most {TEXT_CHARS} characters")
    text = clean_text(text)  # lone surrogates and NUL, which no database holds
    if kind == "log":
        return None
    if kind == "wait":
        return Wait()
    if kind == "answer":
        return Finish(text)
    return Propose(_calls(message, run, most), text, "step")


def _calls(message: Mapping[str, Json], run: Run, most: int) -> tuple[Call, ...]:
    raw = message.get("calls")
    if not isinstance(raw, list) or not 1 <= len(raw) <= most:
        raise BadMessageError(f"calls: expected a list of 1 to {most} calls")
    calls = []
    for index, call in enumerate(raw):
        where = f"calls[{index}]"
        if not isinstance(call, dict) or not isinstance(call.get("action"), str):
            raise BadMessageError(f"{where}: expected an object with action and args")
        args = call.get("args", {})
        if not isinstance(args, dict):
            raise BadMessageError(f"{where}.args: expected an object")
        try:
            spelled = canonical(clean(args))
        except (ValueError, RecursionError):
            raise BadMessageError(f"{where}.args: holds what JSON cannot express") from None
        calls.append(Call(f"x{run.step + 1}_{index}", clean_text(call["action"][:NAME_CHARS]), spelled))
    return tuple(calls)
