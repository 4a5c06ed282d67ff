"""Deciding on the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from getpass import getuser
from pathlib import Path

from attrs import frozen
from sqlalchemy import select

from wakeful.app import App
from wakeful.cli.exits import Exit, of_run
from wakeful.cli.output import note, say, say_json
from wakeful.cli.run import opened
from wakeful.store.tables import action_call
from wakeful.types import Answer, ApprovalRequest, ConfigError, Json, Problem
from wakeful_policy.approvals.cards import stored_request

#: Settles a request as somebody.
Settle = Callable[[App, str], Awaitable[ApprovalRequest]]


def approve_request(file: Path, request_id: str, person: str, args: str, *, as_json: bool) -> int:
    """Approve a call, perhaps with other arguments.

    Raises:
        ConfigError: the arguments are no JSON object.
        NotFoundError: unknown, decided already, or not this person's to decide.
        NotAvailableError: its run has ended.
    """
    edited = _object(args) if args else None

    async def settle(app: App, by: str) -> ApprovalRequest:
        return await app.approvals.approve(request_id, by=by, args=edited)

    return _settled(file, person, settle, as_json=as_json)


def reject_request(file: Path, request_id: str, person: str, *, as_json: bool) -> int:
    """Reject a call or drop a draft; raises as :func:`approve_request`."""

    async def settle(app: App, by: str) -> ApprovalRequest:
        return await app.approvals.reject(request_id, by=by)

    return _settled(file, person, settle, as_json=as_json)


def answer_request(file: Path, request_id: str, person: str, text: str, *, as_json: bool) -> int:
    """Answer a question; raises as :func:`approve_request`, and if the answer does not fit."""
    stored, _ = stored_request(file, request_id)
    answer: Json = text
    if stored.expected.get("type") != "string":
        try:
            answer = json.loads(text)
        except ValueError:
            answer = text

    async def settle(app: App, by: str) -> ApprovalRequest:
        return await app.approvals.answer(request_id, by=by, answer=answer)

    return _settled(file, person, settle, as_json=as_json)


def _settled(file: Path, person: str, settle: Settle, *, as_json: bool) -> int:
    """Settle a request and wait for its run, so that this process does not end in the middle of a call."""

    async def work() -> tuple[ApprovalRequest, Answer | None, Came]:
        async with opened(file) as app:
            request = await settle(app, person or getuser())
            answer = await app.resume(request.run) if request.of_call else None
            return request, answer, await _came(app, request)

    request, answer, came = asyncio.run(work())
    code = _exit(request, answer, came)
    if as_json:
        told = None if answer is None else {"status": answer.status.value, "text": answer.text}
        about = {"request": request.id, "status": request.status, "run": request.run}
        say_json({**about, "code": came.code or None, "answer": told})
        return code
    say(f"{request.id}: {request.status}" + (f", {came.code}" if request.kind == "draft" else ""))
    if answer is not None and request.holds:
        say(answer.text)
        if answer.error:
            note(f"run {answer.status.value}: {answer.error}", red=True)
        for each in answer.pending:
            note(f"still waits for a person: {each}")
    return code


@frozen
class Came:
    """What came of the call that was decided, so far."""

    success: bool = False
    code: str = ""


async def _came(app: App, request: ApprovalRequest) -> Came:
    c = action_call.c
    query = select(c.success, c.code).where(c.key == request.key)
    found = await app.store.read(lambda conn: conn.execute(query).first()) if request.of_call else None
    return Came() if found is None else Came(bool(found.success), found.code)


def _exit(request: ApprovalRequest, answer: Answer | None, came: Came) -> Exit:
    if request.kind == "draft":  # its run has ended before, or goes on beside it
        return Exit.OK if request.status == "rejected" or came.success else Exit.RUN_FAILED
    return Exit.OK if answer is None else of_run(answer.status, answer.error)


def _object(text: str) -> dict[str, Json]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ConfigError([Problem("--args", f"no JSON: {error}")]) from None
    if not isinstance(value, dict):
        raise ConfigError([Problem("--args", 'expected a JSON object such as \'{"to": "ana"}\'')])
    return value
