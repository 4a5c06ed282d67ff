"""``wakeful chat``: turns of one conversation, line by line.

Lines are read on the main thread, so that editing a line, Ctrl-C and Ctrl-D behave as everywhere. Turns
run on an event loop of its own thread, which goes on with whatever else it has to do in the meantime.
"""

from __future__ import annotations

import sys
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from attrs import define, field

from wakeful.cli.background import LoopThread
from wakeful.cli.exits import Exit, of_run
from wakeful.cli.failures import document, lines_of
from wakeful.cli.interrupts import Interrupts
from wakeful.cli.output import note, say_json, terminal
from wakeful.cli.progress import Progress
from wakeful.cli.run import Asking, follow, opened
from wakeful.cli.view import TurnView
from wakeful.types import Json, WakefulError

if TYPE_CHECKING:
    from wakeful.app import App

PROMPT = "> "
ENDS = ("/exit", "/quit")
HELP = "/exit or Ctrl-D ends; Ctrl-C cancels a turn; everything else is said to the agent"


@define(eq=False)
class Chat:
    """A conversation in progress.

    Args:
        app: the open application.
        asking: agent, user and conversation.
        as_json: keep the turns for one document at the end instead of printing them.
        quiet: print answers and errors only.
        conversation: its id, once there is one.
        code: exit code of the last turn.
        turns: the documents of the turns.
    """

    app: App
    asking: Asking
    as_json: bool
    quiet: bool
    conversation: str | None
    code: int = Exit.OK
    turns: list[Json] = field(factory=list)
    _interrupts: Interrupts | None = None

    async def turn(self, text: str) -> None:
        """Run one turn and show it; an error ends the turn, not the chat."""
        view = TurnView(Progress(on=not (self.as_json or self.quiet)))
        view.streams = view.streams and not self.as_json
        self._interrupts = Interrupts(self.app)
        try:
            events = self.app.stream(
                self.asking.agent, text, conversation=self.conversation, user=self.asking.user
            )
            ended = await follow(self.app, events, view, self._interrupts)
        except WakefulError as error:
            self._failed(error)
            return
        self.conversation = view.conversation or self.conversation
        if ended.answer is None:
            self.code = Exit.CANCELLED
            return
        self.code = of_run(ended.answer.status, ended.answer.error)
        if self.as_json:
            self.turns.append(view.document(ended.answer, ended.pending, self.code))
        else:
            view.finish(ended.answer, ended.pending, quiet=self.quiet)

    def interrupt(self) -> None:
        """Cancel the turn in progress."""
        if self._interrupts is not None:
            self._interrupts.interrupt()

    def _failed(self, error: WakefulError) -> None:
        lines, self.code = lines_of(error), error.exit_code
        for line in lines:
            note(f"error: {line}", red=True)
        self.turns.append({"error": document(error, lines, self.code)})


def chat(asking: Asking, *, as_json: bool, quiet: bool) -> int:
    """Talk until the input ends.

    Returns:
        0 on a terminal; when the input is piped, the code of the last turn.

    Raises:
        WakefulError: the agent cannot be used at all.
    """
    with LoopThread() as loop:
        context = opened(asking.file)
        app = loop.call(_entered(context))
        try:
            app.describe(asking.agent)  # says what is wrong with it before the first line is asked for
            talk = Chat(app, asking, as_json, quiet, asking.conversation)
            _greet(talk)
            _lines(loop, talk)
        finally:
            loop.call(_left(context))
    if as_json:
        say_json({"conversation": talk.conversation, "turns": talk.turns})
    return Exit.OK if terminal(sys.stdin) else talk.code


async def _entered(context: AbstractAsyncContextManager[App]) -> App:
    return await context.__aenter__()


async def _left(context: AbstractAsyncContextManager[App]) -> None:
    await context.__aexit__(None, None, None)


def _greet(talk: Chat) -> None:
    if talk.as_json or talk.quiet:
        return
    where = f", conversation {talk.conversation}" if talk.conversation else ""
    note(f"{talk.asking.agent}{where} · {HELP}", dim=True)


def _lines(loop: LoopThread, talk: Chat) -> None:
    person = terminal(sys.stdin)
    if person:
        _edit_lines()
    while True:
        try:
            line = input(PROMPT if person and not talk.as_json else "").strip()
        except EOFError:
            if person:
                note("")
            return
        except KeyboardInterrupt:
            if not person:
                raise
            note("")
            continue
        if line in ENDS:
            return
        if line == "/help":
            note(HELP)
        elif line:
            loop.call(talk.turn(line), interrupted=talk.interrupt)


def _edit_lines() -> None:
    """Let a person edit and recall lines, where the system can."""
    try:
        import readline  # noqa: F401  (importing it is what does it)
    except ImportError:
        return
