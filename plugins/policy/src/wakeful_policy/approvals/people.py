"""Deciding on the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from getpass import getuser
from pathlib import Path

from sqlalchemy import select

from wakeful.app import App
from wakeful.cli.exits import Exit, of_run
from wakeful.cli.output import note, say, say_json
from wakeful.cli.run import opened
from wakeful.loop.recorded import load_raw
from wakeful.store.tables import action_call
from wakeful.system import SystemClock
from wakeful.tools.decode import Refused, parse, plain
from wakeful.types import ActionResult, Answer, ApprovalRequest, ConfigError, Json, Problem, read_json
from wakeful_policy.approvals.added import checked, stored_rules
from wakeful_policy.approvals.cards import stored_request
from wakeful_policy.approvals.deciding import decided_args
from wakeful_policy.approvals.tables import load, one
from wakeful_policy.asking import rules_of

#: Settles a request as somebody.
Settle = Callable[[App, str], Awaitable[ApprovalRequest]]


def approve_request(file: Path, request_id: str, person: str, args: str, rule: str, *, as_json: bool) -> int:
    """Approve a call, perhaps with other arguments, perhaps with a rule about later ones.

    Raises:
        ConfigError: the arguments or the rule are no JSON object, the action does not take the arguments,
            or the rule would never count.
        NotFoundError: unknown, decided already, or not this person's to decide.
        NotAvailableError: its run has ended.
    """
    edited, added = _object("--args", args), _object("--rule", rule)

    async def settle(app: App, by: str) -> ApprovalRequest:
        await _counts(app, request_id, added, edited, "approve")
        return await app.approvals.approve(request_id, by=by, args=edited, rule=added)

    return _settled(file, person, settle, as_json=as_json)


def reject_request(file: Path, request_id: str, person: str, rule: str, *, as_json: bool) -> int:
    """Reject a call or drop a draft; raises as :func:`approve_request`."""
    added = _object("--rule", rule)

    async def settle(app: App, by: str) -> ApprovalRequest:
        await _counts(app, request_id, added, None, "reject")
        return await app.approvals.reject(request_id, by=by, rule=added)

    return _settled(file, person, settle, as_json=as_json)


def answer_request(file: Path, request_id: str, person: str, text: str, *, as_json: bool) -> int:
    """Answer a question; raises as :func:`approve_request`, and if the answer does not fit."""
    stored, _ = stored_request(file, request_id)
    answer: Json = text
    if stored.expected.get("type") != "string":
        with suppress(ValueError):
            read_json(text)
            answer = _json("ANSWER", text)

    async def settle(app: App, by: str) -> ApprovalRequest:
        return await app.approvals.answer(request_id, by=by, answer=answer)

    return _settled(file, person, settle, as_json=as_json)


def _settled(file: Path, person: str, settle: Settle, *, as_json: bool) -> int:
    """Settle a request and wait for its run, so that this process does not end in the middle of a call."""

    async def work() -> tuple[ApprovalRequest, Answer | None, ActionResult | None]:
        async with opened(file) as app:
            request = await settle(app, person or getuser())
            answer = await app.resume(request.run) if request.of_call else None
            return request, answer, await _came(app, request)

    request, answer, came = asyncio.run(work())
    lacking = request.status == "approved" and not (came and came.success)
    code = _exit(request, answer, lacking=lacking)
    if as_json:
        told = None if answer is None else {"status": answer.status.value, "text": answer.text}
        about = {"request": request.id, "status": request.status, "run": request.run}
        say_json({**about, "code": came.code if came else None, "answer": told})
        return code
    shows = came is not None and (lacking or request.kind == "draft")
    say(f"{request.id}: {request.status}" + (f", {came.code}" if came and shows else ""))
    if lacking:
        note(f"the call did not succeed: {came.message if came else 'its run has yet to make it'}", red=True)
    if answer is not None and request.holds:
        say(answer.text)
        if answer.error:
            note(f"run {answer.status.value}: {answer.error}", red=True)
        for each in answer.pending:
            note(f"still waits for a person: {each}")
    return code


async def _came(app: App, request: ApprovalRequest) -> ActionResult | None:
    """Return what came of the call that was decided, so far; None if nothing has."""
    query = select(action_call).where(action_call.c.key == request.key)
    found = await app.store.read(lambda conn: conn.execute(query).mappings().first())
    return None if found is None or not request.of_call else await load_raw(app.store, dict(found))


def _exit(request: ApprovalRequest, answer: Answer | None, *, lacking: bool) -> Exit:
    # The run of a draft has ended before, or goes on beside it.
    of = Exit.OK if answer is None or request.kind == "draft" else of_run(answer.status, answer.error)
    return Exit.RUN_FAILED if lacking and of is Exit.OK else of


def _json(option: str, text: str) -> Json:
    try:
        return plain(parse(text))
    except Refused as error:
        raise ConfigError([Problem(option, f"the values {error}")]) from None


def _object(option: str, text: str) -> dict[str, Json] | None:
    if not text:
        return None
    value = _json(option, text)
    if not isinstance(value, dict):
        example = '{"to": "ana"}' if option == "--args" else '{"args": {"to": {"equals": "ana"}}}'
        raise ConfigError([Problem(option, f"expected a JSON object such as '{example}'")])
    return value


async def _counts(app: App, request_id: str, rule: Json, edited: Json, what: str) -> None:
    """Make sure that a rule would have a say about the call that it is added with."""
    if rule is None:
        return
    row = await app.store.read(lambda conn: conn.execute(one(request_id)).mappings().first())
    stored = None if row is None else load(dict(row))
    agent = app.agents.get(stored.agent) if stored is not None else None
    action = agent.actions.get(stored.action) if agent is not None and stored is not None else None
    if stored is None or action is None:
        return
    before = await app.store.read(lambda conn: stored_rules(conn, stored.agent))
    args = decided_args(stored, edited)
    new = {"number": 0, "rule": checked(rule, what, stored, args), "by": "you"}
    rules = rules_of(app, stored.agent, [*before, new])
    if rules is None:
        raise ConfigError([Problem("--rule", f"the plugin policy is off for agent {stored.agent}")])
    found = rules.find(action, args, SystemClock().now())
    if found is None or (found.number, found.added_by) != (0, "you"):
        said = f"rule {found.name} is as specific and no milder" if found else "another rule counts"
        raise ConfigError([Problem("--rule", f"would never count: {said}; add conditions on arguments")])
