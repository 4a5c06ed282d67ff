"""``wakeful run`` and ``wakeful runs resume``: one turn, shown as it happens."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

from attrs import define, frozen

import wakeful
from wakeful.app import App
from wakeful.cli.exits import Exit, of_run
from wakeful.cli.interrupts import Interrupts, interruptible
from wakeful.cli.log import log_lines
from wakeful.cli.output import say_json
from wakeful.cli.progress import Progress
from wakeful.cli.view import TurnView
from wakeful.types import Answer, ApprovalRequest, ConfigError, Event, Problem


@frozen
class Asking:
    """Who is asked what.

    Args:
        file: the configuration.
        agent: name of the agent.
        text: what to say; ``-`` stands for standard input.
        conversation: to continue, or None.
        user: who asks.
    """

    file: Path
    agent: str
    text: str
    conversation: str | None
    user: str

    def said(self) -> str:
        """Return the text, read from standard input if it is ``-``.

        Raises:
            ConfigError: there is nothing to say.
        """
        text = sys.stdin.read().strip() if self.text == "-" else self.text
        if not text.strip():
            where = "standard input" if self.text == "-" else "TEXT"
            raise ConfigError([Problem(where, "is empty; expected what to say to the agent")])
        return text


@define(eq=False)
class Ended:
    """How a turn ended; without an answer it was given up."""

    answer: Answer | None
    pending: tuple[ApprovalRequest, ...] = ()


def run_turn(asking: Asking, *, as_json: bool, quiet: bool) -> int:
    """Run one turn and print its answer; returns the exit code.

    Raises:
        WakefulError: it could not be run.
    """
    text = asking.said()

    async def work() -> int:
        async with opened(asking.file) as app:
            events = app.stream(asking.agent, text, conversation=asking.conversation, user=asking.user)
            return await show(app, events, as_json=as_json, quiet=quiet)

    return asyncio.run(work())


def resume_run(file: Path, run_id: str, *, as_json: bool, quiet: bool) -> int:
    """Take up a run and print its answer; returns the exit code.

    Raises:
        WakefulError: it cannot be taken up.
    """

    async def work() -> int:
        async with opened(file) as app:
            return await show(app, app.resume_stream(run_id), as_json=as_json, quiet=quiet)

    return asyncio.run(work())


@asynccontextmanager
async def opened(file: Path) -> AsyncIterator[App]:
    """Open the agents of a file, with the log shown as lines."""
    with log_lines():
        async with wakeful.open(file) as app:
            yield app


async def show(app: App, events: AsyncIterator[Event], *, as_json: bool, quiet: bool) -> int:
    """Follow a run, print it and return the exit code."""
    view = TurnView(Progress(on=not (as_json or quiet)))
    view.streams = view.streams and not as_json
    ended = await follow(app, events, view)
    if ended.answer is None:
        return Exit.CANCELLED
    code = of_run(ended.answer.status, ended.answer.error)
    if as_json:
        say_json(view.document(ended.answer, ended.pending, code))
    else:
        view.finish(ended.answer, ended.pending, quiet=quiet)
    return code


async def follow(
    app: App, events: AsyncIterator[Event], view: TurnView, interrupts: Interrupts | None = None
) -> Ended:
    """Show the events of a run until it ends.

    Args:
        app: where it runs.
        events: of the run.
        view: shows them.
        interrupts: told which run an interrupt would cancel; None cancels it at Ctrl-C.
    """
    watched = interruptible(app) if interrupts is None else nullcontext(interrupts)
    with log_lines(view.progress.line), watched as watch:
        try:
            async with view.progress.spinning():
                async for event in events:
                    view.see(event)
                    watch.run_id = view.run_id
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not watch.count or task is None:
                raise
            task.uncancel()
            return Ended(None)
    answer = view.answer
    if answer is None or not answer.pending:
        return Ended(answer)
    waiting = await app.approvals.list(answer.run_id)
    return Ended(answer, tuple(request for request in waiting if request.id in answer.pending))
