"""A turn as it happens: text as it streams on a terminal, what is done beside it, the answer at the end."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from attrs import asdict, define, field

from wakeful.cli.output import note, plain, put, say, short, terminal, visible
from wakeful.cli.progress import Progress
from wakeful.types import (
    ActionEnded,
    ActionStarted,
    Answer,
    ApprovalRequest,
    Break,
    CallJudged,
    EpochStarted,
    Event,
    Invocation,
    Json,
    MessageChanged,
    Notice,
    PersonAsked,
    PrefixBreak,
    ReplyReceived,
    RunStarted,
    RunStatus,
    StepStarted,
    TextDelta,
    TextWithdrawn,
    TryFailed,
    Usage,
    canonical,
)

#: Characters of arguments and messages in a line of progress.
WIDTH = 100


@define(eq=False)
class TurnView:
    """Shows one turn and keeps what is told about it at the end.

    Args:
        progress: where lines about steps go.
        streams: whether text is printed as it comes.
    """

    progress: Progress
    streams: bool = field(factory=lambda: terminal(sys.stdout))
    run_id: str = ""
    conversation: str = ""
    actions: list[dict[str, Json]] = field(factory=list)
    changes: list[Break] = field(factory=list)
    notices: list[dict[str, str]] = field(factory=list)
    answer: Answer | None = None
    _text: list[str] = field(factory=list)
    _open: bool = False

    def see(self, event: Event) -> None:  # noqa: C901, PLR0912  (one branch for each event)
        """Take the next event of the run."""
        match event:
            case RunStarted():
                self.run_id, self.conversation = event.run_id, event.conversation
            case EpochStarted():
                self.progress.during(f"prefix {event.epoch}: {event.reason}")
            case StepStarted():
                self.progress.during(f"step {event.step}: asking the model")
            case TextDelta():
                self._stream(event)
            case TextWithdrawn():
                self._withdraw(event.reason)
            case TryFailed():
                self.progress.line(f"  {event.reason}; trying again in {max(event.pause_s, 1):.0f} s")
            case ReplyReceived():
                self._end_line()
            case PrefixBreak():
                self._end_line()
                self.changes.append(event.change)
                self.progress.line(f"  prefix: {break_line(event.change)}")
            case CallJudged():
                verdict = event.verdict.name.lower()
                self.progress.line(f"  {called(event.invocation)}: {verdict}: {event.reason}".rstrip(": "))
            case PersonAsked():
                self.progress.during(f"asking a person: {event.request.id}")
            case ActionStarted():
                self._end_line()
                self.progress.line(f"  {called(event.invocation)}")
                self.progress.during(f"running {event.invocation.action}")
            case ActionEnded():
                self._ended(event)
            case MessageChanged():
                self.progress.during(f"row {event.sequence} {event.kind}: {event.reason}")
            case Notice():
                self.notices.append({"source": event.source, "message": event.message})
                self.progress.line(f"  note from {event.source}: {event.message}")
            case _:
                self.progress.clear()
                self._end_line()
                self.answer = event.answer

    def finish(self, answer: Answer, pending: Sequence[ApprovalRequest], *, quiet: bool = False) -> None:
        """Print the answer, unless it has streamed already, and what there is to say about the run."""
        shown = self.streams and "".join(self._text).strip() == answer.text.strip()
        if answer.text and not shown and answer.status is not RunStatus.CANCELLED:
            say(answer.text)
        failed = answer.status in {RunStatus.FAILED, RunStatus.LIMIT_REACHED}
        if failed:
            note(f"error: run {answer.status.value.replace('_', ' ')}: {answer.error}", red=True)
            note(f"  wakeful runs show {answer.run_id}")
        elif answer.status is RunStatus.CANCELLED:
            note("cancelled")
        elif answer.error:
            note(f"note: {answer.error}")
        for request in pending:
            args = short(canonical(request.args), WIDTH)
            note(f"waits for approval: {request.id}: {request.action}({args})")
        if pending:
            note(f"  once decided: wakeful runs resume {answer.run_id}")
        if not quiet:
            note(usage_line(answer.usage, len(self.actions), answer.run_id), dim=True)
            for change in self.changes:
                note(f"prefix: {break_line(change)}", dim=change.declared)

    def document(self, answer: Answer, pending: Sequence[ApprovalRequest], code: int) -> dict[str, Json]:
        """Return the turn as the JSON document that ``--json`` prints."""
        failed = answer.status in {RunStatus.FAILED, RunStatus.LIMIT_REACHED, RunStatus.CANCELLED}
        message = answer.error or answer.text or answer.status.value
        error = {"type": answer.status.value, "message": message, "exit_code": int(code)} if failed else None
        waiting = {request.id: plain(request) for request in pending}
        return {
            "run_id": answer.run_id,
            "conversation": answer.conversation,
            "status": answer.status.value,
            "text": answer.text,
            "disposition": answer.disposition.value,
            "reaction": answer.reaction,
            "error": error,
            "warning": "" if failed else answer.error,
            "pending": [waiting.get(each, {"id": each}) for each in answer.pending],
            "artifacts": list(answer.artifacts),
            "actions": self.actions,
            "notices": self.notices,
            "usage": usage_document(answer.usage),
            "breaks": [asdict(change) for change in self.changes],
        }

    def _stream(self, event: TextDelta) -> None:
        if event.thinking:
            self.progress.during("the model is thinking")
            return
        self._text.append(event.text)
        if self.streams:
            self.progress.clear()
            put(visible(event.text), sys.stdout)
            self._open = not event.text.endswith("\n")

    def _withdraw(self, reason: str) -> None:
        self._end_line()
        self._text.clear()
        self.progress.line(f"  the text so far is void: {reason}")

    def _ended(self, event: ActionEnded) -> None:
        self._text.clear()
        result = event.result
        said = f": {short(result.message, WIDTH)}" if result.message else ""
        self.progress.line(f"  {event.invocation.action} -> {result.code}{said}")
        self.actions.append(
            {
                "action": event.invocation.action,
                "args": plain(event.invocation.args),
                "success": result.success,
                "code": result.code,
                "text": event.text,
            }
        )

    def _end_line(self) -> None:
        if self._open:
            self._open = False
            say()


def called(inv: Invocation) -> str:
    """Return a call in one line: name and arguments."""
    args = inv.args if isinstance(inv.args, str) else canonical(inv.args)
    return f"{inv.action}({short(args, WIDTH)})"


def usage_line(usage: Usage, actions: int, run_id: str) -> str:
    """Return the line that ends a run: tokens, cost if it is known, actions, the run's id."""
    cost = "cost unknown" if usage.cost is None else f"${usage.cost:.4f}"
    hit = f", hit {usage.read / usage.input:.0%}" if usage.input and (usage.read or usage.write) else ""
    tokens = f"in {usage.input:,} (read {usage.read:,}, written {usage.write:,}{hit}), out {usage.output:,}"
    source = unreported(usage)
    many = f"{actions} action{'' if actions == 1 else 's'}"
    return f"usage: {tokens}{source} · {cost} · {many} · {run_id}"


def unreported(usage: Usage) -> str:
    """Return what to say behind tokens of which some are not what a provider reported; empty if all are."""
    if usage.reported:
        return ""
    return " (not all of it reported)" if usage.total else " (not reported)"


def break_line(change: Break) -> str:
    """Return in one line where a prefix broke, whose that is and what it cost."""
    whose = f" of {change.plugin}" if change.plugin else ""
    lost = f", {change.lost:,} tokens paid again" if change.lost else ""
    how = "" if change.declared else "undeclared: "
    return f"{how}{change.section}{whose}: {short(change.reason, WIDTH)}{lost}"


def usage_document(usage: Usage) -> dict[str, Json]:
    """Return a usage as JSON."""
    return {
        "input": usage.input,
        "read": usage.read,
        "write": usage.write,
        "uncached": usage.uncached,
        "output": usage.output,
        "cost": usage.cost,
        "reported": usage.reported,
        "reasoning": usage.reasoning,
        "write_1h": usage.write_1h,
    }
