"""Rows that no model, person or action has made: an agent type's wording, proposals and answers."""

from __future__ import annotations

from wakeful.loop.close import merged
from wakeful.loop.entries import Made
from wakeful.loop.live import Live
from wakeful.results import nonce
from wakeful.types import (
    Ask,
    Call,
    Finish,
    PluginError,
    Propose,
    Reply,
    ReplyReceived,
    Row,
    RowKind,
    Stepped,
    Stop,
    Text,
    Trust,
    Usage,
    clean_text,
)


async def word(live: Live, decision: Ask) -> None:
    """Append an agent type's wording to the model, once.

    Raises:
        PluginError: outside text in it cannot be marked.
    """
    run = live.run
    if any(row.kind is RowKind.NOTE and row.run == run.id and row.step == run.step for row in run.rows):
        return
    text = (Text("user", clean_text(_worded(live, decision))),)
    worst = max(decision.parts, key=lambda part: part.trust, default=None)
    trust, source = run.taint, "step" if run.taint else ""
    if worst is not None and worst.trust > trust:
        trust, source = worst.trust, worst.source or "step"
    row = Row(0, RowKind.NOTE, text, run.id, run.turn, run.step, trust, source)
    live.append(await live.journal.append(run, [row]))


def _worded(live: Live, decision: Ask) -> str:
    """Return the wording with outside text in envelopes."""
    run, said = live.run, []
    for place, part in enumerate(decision.parts):
        text = str(part.value)
        if part.trust is not Trust.TRUSTED:
            mark = nonce(run.secret, f"{run.id}/{run.step}/word/{place}")
            try:
                text = live.agent.envelope.wrap(text, part.trust, part.source, mark)
            except Exception as error:
                raise PluginError(live.agent.slot("result_envelope"), "result_envelope", error) from error
        said.append(text)
    return "".join(said) or decision.text


async def propose(live: Live, decision: Propose | Finish) -> None:
    """Record a step that no model decided."""
    text = (Text("assistant", decision.text),) if decision.text else ()
    calls: tuple[Call, ...] = ()
    name, trust, source = "answer", Trust.TRUSTED, ""
    if isinstance(decision, Propose):
        name, calls = decision.name, decision.calls
    else:
        trust, source = decision.trust, decision.source
    reply = Reply((*text, *calls), Usage(), Stop.CALLS if calls else Stop.END)
    made = Made(live.agent.type.name, name, decision.saved)
    live.append(await live.journal.proposed(live.run, made, reply, trust, source))
    live.last = Stepped(reply, proposed=True)
    live.update(state=merged(live, made.puts))
    await live.emit(ReplyReceived(live.run.id, live.run.step, reply))
