"""The adapter between the loop and a model whose API knows no tools.

What goes out is text alone: the tools as a static section, earlier calls and results as messages. What
comes back is one JSON object, which becomes ordinary calls; the rest of the kernel sees no difference.
The model's own bytes are kept beside the calls and are sent again unchanged, so that its cache stays warm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from attrs import define, evolve, field

from wakeful.models.envelope.parse import FormError, Step, parse
from wakeful.models.envelope.section import section
from wakeful.models.tries import failed
from wakeful.types import (
    Call,
    Emit,
    Item,
    Model,
    ModelError,
    Opaque,
    Profile,
    Reply,
    Request,
    Result,
    Stop,
    Text,
    TextDelta,
    Usage,
    canonical,
)

#: Provider name of the opaque item that holds a model's own answer.
OWN = "envelope"
#: Answers that may be asked for again because of their form.
RETRIES = 1


@define
class EnvelopeModel:
    """A model that acts through text.

    Args:
        inner: the model that only reads and writes text.
    """

    inner: Model
    profile: Profile = field(init=False)

    @profile.default
    def _profile(self) -> Profile:
        return evolve(self.inner.profile, native_tools=True)

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        """Ask; an answer of the wrong form is asked for once more, with what was wrong.

        Raises:
            ModelError: the call failed, or the second answer had the wrong form too (``malformed``).
        """
        if not request.tools and not any(isinstance(item, Call | Result) for item in request.items):
            return await self.inner.complete(request, conversation, emit)  # nothing to act with: plain talk
        names = [tool.name for tool in request.tools]
        plain = _plain(request)
        spent: Usage | None = None
        for _ in range(RETRIES + 1):
            reply = await self._again(plain, conversation, spent)
            text = "".join(item.text for item in reply.items if isinstance(item, Text))
            if reply.stop in {Stop.REFUSED, Stop.LENGTH}:
                failed(spent)
                return reply
            try:
                step = parse(text, names)
            except FormError as error:
                spent = reply.usage
                problem = str(error)
                correction = Text("user", f"That answer cannot be used: {problem}. Answer again in the form.")
                plain = evolve(plain, items=(*plain.items, Text("assistant", text), correction))
                continue
            if emit is not None and step.message:
                await emit(TextDelta(step.message))
            failed(spent)
            return _reply(step, text, reply, len(request.items))
        what = f"the model's answer had the wrong form twice: {problem}"
        raise ModelError("malformed", what, usage=spent)

    async def _again(self, plain: Request, conversation: str, spent: Usage | None) -> Reply:
        """Ask; what an answer of the wrong form used before is added to whatever comes."""
        if spent is None:
            return await self.inner.complete(plain, conversation)
        try:
            reply = await self.inner.complete(plain, conversation)
        except ModelError as error:
            error.usage = spent if error.usage is None else spent + error.usage
            raise
        except BaseException:  # cut short: only whoever counts hears of it
            failed(spent)
            raise
        return evolve(reply, usage=spent + reply.usage)

    async def close(self) -> None:
        """Close the inner model."""
        close = getattr(self.inner, "close", None)
        if close is not None:
            await close()


def _reply(step: Step, text: str, own: Reply, place: int) -> Reply:
    items: list[Item] = [Opaque(OWN, text)]
    if step.message:
        items.append(Text("assistant", step.message))
    # The place in the history makes the ids unique in a conversation and the same on every replay.
    items += [Call(f"call_{place}_{n}", name, args) for n, (name, args) in enumerate(step.actions)]
    return evolve(own, items=tuple(items), stop=Stop.CALLS if step.actions else Stop.END)


def _plain(request: Request) -> Request:
    """Return the request as text alone."""
    system = (*request.system, section(request.tools))
    return evolve(request, tools=(), system=system, items=tuple(_items(request.items)))


def _items(items: Sequence[Item]) -> Iterator[Item]:
    for assistant, group in groupby(items, key=_by_assistant):
        members = list(group)
        if assistant:
            yield Text("assistant", _own_words(members))
            continue
        for item in members:
            if isinstance(item, Result):
                yield Text("user", f"Result of {item.call_id}:\n{item.text}")
            elif not isinstance(item, Call):
                yield item


def _by_assistant(item: Item) -> bool:
    return isinstance(item, Call | Opaque) or (isinstance(item, Text) and item.role == "assistant")


def _own_words(items: Sequence[Item]) -> str:
    """Return what the model wrote, byte for byte; an answer of another model is put into the form."""
    own = [item.data for item in items if isinstance(item, Opaque) and item.provider == OWN]
    if own:
        return "\n".join(own)
    message = "\n".join(item.text for item in items if isinstance(item, Text))
    calls = [{"name": item.tool, "args": item.args} for item in items if isinstance(item, Call)]
    step = {"type": "actions", "actions": calls} if calls else {"type": "chat"}
    return canonical({"message": message, "next": step})
