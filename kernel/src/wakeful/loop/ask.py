"""Composing a request and asking the model."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from wakeful.loop.journal import Asked
from wakeful.loop.live import Live
from wakeful.results.render import nonce
from wakeful.types import Delta, Draft, Fragment, Item, ModelError, Reply, Request, Text, Trust, WakefulError
from wakeful.waiting import within

#: How often an empty reply is asked for again (spec of the loop: once, then the run fails).
EMPTY_RETRIES = 1


async def compose(live: Live, trailing: Sequence[Item] = ()) -> Request:
    """Return the next request: window, state fragments in their order, then the layout."""
    agent, run = live.agent, live.run
    fragments, failures = agent.plugins.state(run)
    await live.note(failures)
    state = sorted((*run.context, *fragments), key=lambda item: (item.order, item.name))
    view = agent.window.select(run)
    draft = Draft(
        epoch=run.epoch,
        profile=agent.view.profile,
        conversation=run.conversation,
        rows=view.rows,
        state=tuple(_enveloped(live, fragment) for fragment in state),
        kept=run.kept,
        previous=run.previous,
        view=view.name,
        trailing=tuple(trailing),
    )
    return agent.layout.compose(draft)


def _enveloped(live: Live, fragment: Fragment) -> Fragment:
    if fragment.trust is Trust.TRUSTED:
        return fragment
    mark = nonce(live.run.secret, f"state/{fragment.name}")
    return evolve(
        fragment, text=live.agent.envelope.wrap(fragment.text, fragment.trust, fragment.source, mark)
    )


async def ask(live: Live, request: Request, *, stream: bool = True) -> Reply:
    """Ask the model once, within the run's time limit.

    Raises:
        ModelError: classified by the provider; any other exception becomes ``unknown``.
        TimeoutError: the run's time is over.
    """

    async def emit(delta: Delta) -> None:
        await live.emit(delta)

    call = live.agent.model.complete(request, live.run.conversation, emit if stream else None)
    try:
        left = live.remaining
        return await (call if left is None else within(live.clock, max(left, 0.0), call))
    except (WakefulError, TimeoutError):
        raise
    except Exception as error:
        scheme = live.agent.view.profile.provider
        message = f"the provider {scheme!r} raised {type(error).__name__}: {error}"
        raise ModelError("unknown", live.redactor.text(message)) from error


async def reply_to(live: Live) -> tuple[Request, Reply, Asked]:
    """Ask for the reply of this step; an empty one is recorded and asked for once more.

    Raises:
        ModelError: the call failed, or two replies in a row were empty.
        TimeoutError: the run's time is over.
    """
    request = await compose(live)
    fingerprint = request.fingerprint()
    for attempt in range(EMPTY_RETRIES + 1):
        asked = Asked("step", live.clock.now(), fingerprint)
        reply = await ask(live, request)
        live.spend(reply.usage)
        if not _empty(reply):
            return request, reply, asked
        await live.journal.side_call(live.run, Asked("empty", asked.started, fingerprint), reply)
        live.notices.append(f"reply {attempt + 1} had neither text nor calls")
    raise ModelError("malformed", "the model answered with neither text nor calls, twice")


def _empty(reply: Reply) -> bool:
    return not any(not isinstance(item, Text) or item.text.strip() for item in reply.items)


async def side_question(live: Live, kind: str, text: str) -> Reply:
    """Ask with the run's stable prefix plus one trailing text; recorded, adds no rows."""
    request = await compose(live, [Text("user", text)])
    asked = Asked(kind, live.clock.now(), request.fingerprint())
    try:
        reply = await ask(live, request, stream=False)
    except ModelError as error:
        if error.usage is not None:
            live.spend(error.usage)
        await live.journal.side_call(live.run, asked, None, live.redactor.text(str(error)))
        raise
    live.spend(reply.usage)
    await live.journal.side_call(live.run, asked, reply)
    return reply
