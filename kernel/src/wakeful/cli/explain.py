"""``wakeful runs show``: why each step was asked, what came back, how each call was judged and ended."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from wakeful.cli.output import say, say_red
from wakeful.cli.runs import when
from wakeful.cli.view import unreported
from wakeful.loop.plan import BASIS, EDITED
from wakeful.store.records import ActionCallRecord, MessageRecord, ModelCallRecord, RunDetail, StepRecord
from wakeful.types import Call, Opaque, Result, RowKind, RunStatus, Text, Usage, canonical

#: Characters of one text that are printed; --json has all of it.
LIMIT = 2000
#: What a model call is for when it is the step itself.
STEP = "step"
_INPUTS = {RowKind.USER: "the user's input", RowKind.INBOUND: "an inbound message", RowKind.STEER: "steering"}
_WAITING = {RunStatus.AWAITING_APPROVAL, RunStatus.AWAITING_FEEDBACK}


def explain(detail: RunDetail) -> None:
    """Print everything that is recorded about a run."""
    run = detail.run
    who = f", user {run.user}" if run.user else ""
    say(f"run {run.id}: agent {run.agent}, conversation {run.conversation}, turn {run.turn}{who}")
    say(f"model {run.model} · started {when(run.started_at)}{_lasted(run.started_at, run.ended_at)}")
    if run.parent_run:
        say(f"part of run {run.parent_run}, step {run.parent_step}")
    for row in detail.rows:
        if row.step == 0:
            _block(f"{row.kind.value} [{row.seq}]", _text(row))
    for step in detail.steps:
        say()
        _step(detail, step)
    say()
    _end(detail)


def _step(detail: RunDetail, step: StepRecord) -> None:
    what = f"asked {step.name}" if step.type == "model" else f"{step.type} {step.name}"
    say(f"step {step.number} · {step.status} · {what} because of {_why(detail, step)}")
    rows = [row for row in detail.rows if row.step == step.number]
    for asked in detail.model_calls:
        if asked.step == step.number:
            _model_call(asked)
    for call in detail.action_calls:
        if call.step == step.number:
            _action_call(call, rows)
    _below(detail, detail.run.id, step.number)
    for row in rows:
        if row.kind not in {RowKind.ASSISTANT, RowKind.RESULT}:
            _block(f"  {row.kind.value} [{row.seq}]", _text(row))
    for notice in _notices(step):
        say_red(f"  notice: {notice}")
    if step.error:
        say_red(f"  error: {step.error}")
    say(f"  usage: {_usage(step.usage)}{_lasted(step.started_at, step.ended_at)}")


def _below(detail: RunDetail, run_id: str, step: int | None = None, depth: int = 1) -> None:
    """Name the sub-agents' runs that a step started, each with those below it."""
    for child in detail.below:
        if child.parent_run == run_id and step in {None, child.parent_step}:
            where = "" if step is not None else f" of step {child.parent_step}"
            what = f"run {child.id}{where}, agent {child.agent}, {child.status.value}, {child.steps} steps"
            say(f"{'  ' * depth}below: {what}")
            _below(detail, child.id, depth=depth + 1)


def _why(detail: RunDetail, step: StepRecord) -> str:
    """Return what the model was asked about: what entered the transcript since the step before."""
    if step.number == min(each.number for each in detail.steps):
        kinds = [row.kind for row in detail.rows if row.step == 0]
        reason = ", ".join(_INPUTS.get(kind, kind.value) for kind in kinds) or "the conversation so far"
        prefix = f" (prefix {detail.run.epoch}: {detail.epoch_reason})" if detail.epoch_reason else ""
        return reason + prefix
    before = step.number - 1
    added = [row for row in detail.rows if row.step == before and row.kind is not RowKind.ASSISTANT]
    count = sum(row.kind is RowKind.RESULT for row in added)
    reasons = [f"the result{'' if count == 1 else 's'} of step {before}"] if count else []
    reasons += sorted({row.kind.value for row in added} - {RowKind.RESULT.value, RowKind.STATE.value})
    return " and ".join(reasons) or f"the reply of step {before}"


def _model_call(asked: ModelCallRecord) -> None:
    what = "reply" if asked.kind == STEP else f"reply ({asked.kind})"
    texts = [item.text for item in asked.reply if isinstance(item, Text)]
    blocks = [item.provider for item in asked.reply if isinstance(item, Opaque)]
    calls = [item for item in asked.reply if isinstance(item, Call)]
    stop = f", stop: {asked.stop}" if asked.stop else ""
    if asked.error:
        say_red(f"  {what}: {asked.error}")
    elif texts:
        _block(f"  {what}{stop}", "\n\n".join(texts))
    else:
        count = f"{len(calls)} call{'s' * (len(calls) > 1)}, no text"
        say(f"  {what}{stop}: {count if calls else 'nothing'}")
    if blocks:
        say(f"    with {len(blocks)} block{'s' * (len(blocks) > 1)} of {', '.join(sorted(set(blocks)))}")


def _action_call(call: ActionCallRecord, rows: list[MessageRecord]) -> None:
    args = call.args if isinstance(call.args, str) else canonical(call.args)
    via = f" through {call.tool}" if call.tool != call.action else ""
    ended = f" {call.code}" if call.code else ""
    say(f"  call {call.action}({_cut(args)}){via} [{call.call_id}]")
    took = _lasted(call.started_at, call.ended_at)
    say(f"    verdict: {call.verdict or 'none'} · {call.status}{ended}{took}")
    for plugin, *rest in call.reasons:
        if rest[0] == BASIS:
            continue
        if rest[0] == EDITED:
            say(f"    a person changed the arguments; they were {_cut(rest[1])}")
            continue
        say(f"    judged by {plugin or 'the kernel'}: {': '.join(filter(None, rest))}")
    if call.approval_id:
        say(f"    approval: {call.approval_id}")
    for row in rows:
        for item in row.items:
            if isinstance(item, Result) and item.call_id == call.call_id:
                trust = f", {row.trust.label}" if row.trust else ""
                source = f" from {row.source}" if row.source else ""
                _block(f"    result [{row.seq}{trust}{source}]", item.text, indent=6)


def _end(detail: RunDetail) -> None:
    run = detail.run
    waits = " (waits for a person)" if run.status in _WAITING else ""
    line = f"{run.status.value}{waits}, disposition {run.disposition.value}"
    if run.reaction:
        line += f", reaction {run.reaction}"
    if run.status in {RunStatus.FAILED, RunStatus.LIMIT_REACHED}:
        say_red(line)
    else:
        say(line)
    if run.error:
        say_red(f"error: {run.error}")
    _block("answer", run.text)
    say(f"usage: {_usage(run.usage)} · {run.steps} steps · {len(detail.action_calls)} calls")
    if detail.below:
        everything = (run, *detail.below)
        used = sum((each.usage for each in detail.below), run.usage)
        steps = sum(each.steps for each in everything)
        say(f"usage with all below: {_usage(used)} · {steps} steps · {len(everything)} runs")


def _block(title: str, text: str, indent: int = 4) -> None:
    """Print a text under its title; a single short line beside it."""
    lines = _cut(text).strip().splitlines()
    if len(lines) <= 1:
        say(f"{title}: {lines[0] if lines else ''}".rstrip())
        return
    say(f"{title}:")
    for line in lines:
        say(f"{' ' * indent}{line}")


def _cut(text: str) -> str:
    if len(text) <= LIMIT:
        return text
    return f"{text[:LIMIT]}… ({len(text):,} characters in all; --json has them)"


def _text(row: MessageRecord) -> str:
    return "\n".join(item.text for item in row.items if isinstance(item, Text | Result))


def _notices(step: StepRecord) -> Iterator[str]:
    output = step.output if isinstance(step.output, dict) else {}
    yield from (str(notice) for notice in output.get("notices", []))


def _usage(usage: Usage) -> str:
    cost = "" if usage.cost is None else f" · ${usage.cost:.4f}"
    tokens = f"in {usage.input:,} (read {usage.read:,}, written {usage.write:,}), out {usage.output:,}"
    return f"{tokens}{unreported(usage)}{cost}"


def _lasted(start: datetime | None, end: datetime | None) -> str:
    if start is None or end is None:
        return ""
    return f" · {(end - start).total_seconds():.2f} s"
