"""Composing a request and asking the model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from attrs import evolve

from wakeful.loop.entries import Asked
from wakeful.loop.live import Live
from wakeful.loop.prefix import described
from wakeful.loop.received import received
from wakeful.loop.relief import make_room
from wakeful.models.tries import counting, total
from wakeful.results.render import nonce
from wakeful.types import (
    Call,
    Delta,
    Draft,
    Emit,
    Fragment,
    Item,
    Model,
    ModelError,
    PluginError,
    Reply,
    Request,
    Stop,
    Text,
    TextDelta,
    Trust,
    Usage,
    WakefulError,
    digest,
)
from wakeful.waiting import stopping, within

#: How often an empty reply is asked for again (spec of the loop: once, then the run fails).
EMPTY_RETRIES = 1


async def compose(live: Live, trailing: Sequence[Item] = ()) -> Request:
    """Return the next request: window, state fragments in their order, then the layout."""
    agent, run = live.agent, live.run
    fragments, failures = agent.plugins.state(run)
    await live.note(failures)
    state = sorted((*run.context, *fragments), key=lambda item: (item.order, item.name))
    try:
        view = run.rewrites.apply(agent.window.select(run))
    except Exception as error:
        raise PluginError(agent.slot("prompt_window"), "prompt_window", error) from error
    shown = await _enveloped(live, state)
    live.shown = _worst(shown)
    draft = Draft(
        epoch=run.epoch,
        profile=agent.view.profile,
        conversation=run.conversation,
        rows=view.rows,
        state=shown,
        kept=run.kept,
        previous=run.previous,
        view=view.name,
        trailing=tuple(trailing),
    )
    try:
        return agent.layout.compose(draft)
    except Exception as error:
        raise PluginError(agent.slot("prompt_layout"), "prompt_layout", error) from error


async def _enveloped(live: Live, fragments: Sequence[Fragment]) -> tuple[Fragment, ...]:
    """Return the fragments with outside text in envelopes; one that gets none is left out."""
    agent, wrapped = live.agent, []
    for fragment in fragments:
        text = fragment.text
        if fragment.trust is not Trust.TRUSTED:
            mark = nonce(live.run.secret, f"state/{fragment.name}")
            try:
                text = agent.envelope.wrap(text, fragment.trust, fragment.source, mark)
            except Exception as error:  # noqa: BLE001  (the request goes out without what cannot be marked)
                await live.note((PluginError(agent.slot("result_envelope"), "result_envelope", error),))
                continue
        wrapped.append(evolve(fragment, text=text))
    return tuple(wrapped)


def _worst(fragments: Sequence[Fragment]) -> tuple[Trust, str]:
    """Return trust and source of the least trusted fragment; nothing was read in one without text."""
    worst = max((each for each in fragments if each.text), key=lambda each: each.trust, default=None)
    if worst is None or worst.trust is Trust.TRUSTED:
        return Trust.TRUSTED, ""
    return worst.trust, worst.source or f"state:{worst.name}"


async def ask(
    live: Live, request: Request, characters: int, *, stream: bool = True, side: Model | None = None
) -> Reply:
    """Ask the model once, within the run's time limit, and count what that used.

    Args:
        live: the run; ``live.lost`` says afterwards what a call without a reply used.
        request: what is asked.
        characters: length of the canonical request.
        stream: whether pieces of the reply are emitted.
        side: another model to be asked than the agent's.

    Raises:
        ModelError: classified by the provider; any other exception becomes ``unknown``.
        TimeoutError: the run's time is over.
    """

    async def emit(delta: Delta) -> None:
        if not isinstance(delta, TextDelta):
            delta = evolve(delta, reason=live.redactor.text(delta.reason))
        await live.emit(delta)

    live.lost = Usage()
    with counting() as tries:
        call = _asked(live, side or live.agent.model, request, emit if stream else None)
        left = live.remaining
        try:
            reply = await (call if left is None else within(live.clock, max(left, 0.0), call))
        except BaseException as error:  # a call that is cut short has used what its failed tries did
            own = error.usage if isinstance(error, ModelError) else None
            live.lost = own or total(tries) or Usage()
            live.spend(live.lost)
            raise
    live.spend(reply.usage)
    if side is not None:
        return reply  # another model's tokens tell nothing about the size of this one's requests
    again = total(tries) or Usage()
    tokens = reply.usage.input - again.input
    # A sum with a failed try that said nothing is not reported as a whole; this reply's part of it is.
    live.sent = tokens if reply.usage.reported or not again.reported else 0
    if live.sent:
        live.calibrate(characters, live.sent)
    return reply


async def _asked(live: Live, model: Model, request: Request, emit: Emit | None) -> Reply:
    """Ask the model; whatever goes wrong in its provider becomes a ModelError."""
    try:
        return received(await model.complete(request, live.run.conversation, emit))
    except WakefulError:
        raise
    except (Exception, asyncio.CancelledError) as error:
        if isinstance(error, asyncio.CancelledError) and stopping():
            raise
        scheme = model.profile.provider
        message = live.redactor.text(f"the provider {scheme!r} raised {type(error).__name__}: {error}")
        late = isinstance(error, TimeoutError)
        raise ModelError("timeout" if late else "unknown", message, retryable=late) from error


async def reply_to(live: Live) -> tuple[Request, Reply, Asked]:
    """Ask for the reply of this step; an empty one is recorded and asked for once more.

    Raises:
        ModelError: the call failed, or two replies in a row were empty.
        TimeoutError: the run's time is over.
    """
    live.lost = Usage()
    request, spelled = await _fitting(live)
    for attempt in range(EMPTY_RETRIES + 1):
        request, reply, asked = await _answered(live, request, spelled)
        if not _empty(reply):
            return request, reply, asked
        await live.journal.side_call(live.run, evolve(asked, kind="empty"), reply)
        live.notices.append(f"reply {attempt + 1} had neither text nor calls")
    raise ModelError("malformed", "the model answered with neither text nor calls, twice")


async def _fitting(live: Live) -> tuple[Request, str]:
    """Return the next request and its spelling, made shorter where the agent's strategies apply."""
    request = await compose(live)
    spelled = request.canonical()
    if await make_room(live, len(spelled)):
        request = await compose(live)
        spelled = request.canonical()
    return request, spelled


async def _answered(live: Live, request: Request, spelled: str) -> tuple[Request, Reply, Asked]:
    """Ask; a request that the provider finds too long is recorded, made shorter and asked again."""
    while True:
        prompt = described(request, live.run, len(spelled))
        asked = Asked("step", live.clock.now(), digest(spelled), prompt, *live.shown)
        try:
            return request, await ask(live, request, len(spelled)), asked
        except ModelError as error:
            too_long = error.kind == "context_too_long"
            if not too_long or not await make_room(live, len(spelled), refused=True):
                raise
            told, asked = live.redactor.text(str(error)), evolve(asked, kind="too-long")
            await live.journal.side_call(live.run, asked, None, told, lost=live.lost)
        request = await compose(live)
        spelled = request.canonical()


def _empty(reply: Reply) -> bool:
    """Whether a reply that claims to be whole says nothing and asks for nothing; thoughts are no answer."""
    if reply.stop in {Stop.PAUSE, Stop.LENGTH, Stop.REFUSED}:
        return False
    return not any(
        isinstance(item, Call) or (isinstance(item, Text) and item.text.strip()) for item in reply.items
    )


async def side_question(live: Live, kind: str, text: str, *, alone: bool = False) -> Reply:
    """Ask one text, after the run's stable prefix or (``alone``) by itself; recorded, adds no rows.

    What is asked by itself goes to the agent's model for such questions, if it has one.
    """
    question = Text("user", text)
    side = live.agent.side if alone else None
    name = live.run.epoch.declared.model if side is None else side.models[0][0]
    request = Request(name, (), (), (question,)) if alone else await compose(live, [question])
    spelled = request.canonical()
    prompt = described(request, live.run, len(spelled))
    asked = Asked(kind, live.clock.now(), digest(spelled), prompt, model=name)
    try:
        reply = await ask(live, request, len(spelled), stream=False, side=side)
    except ModelError as error:
        text = live.redactor.text(str(error))
        await live.journal.side_call(live.run, asked, None, text, lost=live.lost)
        raise
    await live.journal.side_call(live.run, asked, reply)
    return reply
