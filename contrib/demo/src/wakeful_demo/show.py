"""Printing a run as it happens, and what it took at the end."""

from __future__ import annotations

from attrs import define, field
from rich.console import Console
from rich.table import Table
from rich.text import Text as Styled

from wakeful.types import (
    ActionEnded,
    Answer,
    Event,
    Notice,
    ReplyReceived,
    StepStarted,
    Text,
    Usage,
    canonical,
)
from wakeful_demo.price import Prices

#: Characters shown of a call's arguments and of its result.
SHOWN = 100


@define
class Turn:
    """What one turn took."""

    question: str
    steps: int = 0
    actions: list[str] = field(factory=list)
    usage: Usage = Usage()


@define
class Show:
    """Prints events and remembers what the table needs."""

    console: Console
    turns: list[Turn] = field(factory=list)

    def ask(self, question: str) -> None:
        """Begin a turn."""
        self.turns.append(Turn(question))
        self.console.print(f"\nYou: {question}", style="bold", markup=False, highlight=False)

    def event(self, event: Event) -> None:
        """Print one event of the run."""
        turn = self.turns[-1]
        if isinstance(event, StepStarted):
            turn.steps = event.step
        elif isinstance(event, ReplyReceived):
            for item in event.reply.items:
                if isinstance(item, Text):
                    self._line(f"  step {event.step}  says", item.text)
        elif isinstance(event, ActionEnded):
            turn.actions.append(event.invocation.action)
            args = event.invocation.args
            self._line(f"  step {turn.steps}  calls", f"{event.invocation.action} {_short(args)}")
            mark = "gives" if event.result.success else "fails"
            self._line(f"          {mark}", f"{event.result.code} {event.result.message}"[:SHOWN])
        elif isinstance(event, Notice):
            self._line("  note", f"{event.source}: {event.message}")

    def says(self, text: str) -> None:
        """Print what the agent says in the end."""
        self._line("  in the end", text)

    def answer(self, answer: Answer) -> None:
        """Print the answer of the turn."""
        self.turns[-1].usage = answer.usage
        if answer.error:
            self._line(f"  {answer.status.value}", answer.error)

    def table(self) -> None:
        """Print what each turn took."""
        table = Table(title="What it took")
        for name in ("turn", "steps", "actions", "tokens in", "cached", "tokens out", "cost"):
            table.add_column(name, justify="right")
        for number, turn in enumerate(self.turns, start=1):
            table.add_row(str(number), str(turn.steps), str(len(turn.actions)), *_tokens(turn.usage))
        total = sum((turn.usage for turn in self.turns[1:]), self.turns[0].usage)
        actions = sum(len(turn.actions) for turn in self.turns)
        table.add_section()
        table.add_row("all", str(sum(turn.steps for turn in self.turns)), str(actions), *_tokens(total))
        self.console.print()
        self.console.print(table)
        if not total.reported:
            self.console.print(
                "Token counts are estimates (four characters to a token): a script reports none."
            )

    def prices(self, found: Prices | None) -> None:
        """Print what the prompts would cost."""
        if found is not None:
            self.console.print(found.line, highlight=False)

    def _line(self, label: str, text: str) -> None:
        self.console.print(Styled.assemble((f"{label:<17}", "dim"), text))


def _short(args: object) -> str:
    text = args if isinstance(args, str) else canonical(args)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _tokens(usage: Usage) -> tuple[str, str, str, str]:
    cost = "unknown" if usage.cost is None else f"${usage.cost:.4f}"
    return f"{usage.input:,}", f"{usage.read:,}", f"{usage.output:,}", cost
