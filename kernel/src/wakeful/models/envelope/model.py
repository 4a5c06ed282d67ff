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
    Delta,
    Emit,
    Item,
    Marks,
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
        return evolve(self.inner.profile, native_tools=True, tool_search=False)

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        """Ask; an answer of the wrong form is asked for once more, with what was wrong.

        Raises:
            ModelError: the call failed, or the second answer had the wrong form too (``malformed``).
        """
        if not request.tools and not any(isinstance(item, Call | Result) for item in request.items):
            return await self.inner.complete(request, conversation, emit)  # nothing to act with: plain talk
        names = [tool.name for tool in request.tools]
        plain = _plain(request)
        thoughts = None if emit is None else _only_thoughts(emit)
        spent: Usage | None = None
        for _ in range(RETRIES + 1):
            reply = await self._again(plain, conversation, spent, thoughts)
            text = "".join(item.text for item in reply.items if isinstance(item, Text))
            if reply.stop is Stop.REFUSED:
                failed(spent)
                return reply
            try:
                step = _step(reply, text, names)
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

    async def _again(
        self, plain: Request, conversation: str, spent: Usage | None, thoughts: Emit | None
    ) -> Reply:
        """Ask; what an answer of the wrong form used before is added to whatever comes."""
        if spent is None:
            return await self.inner.complete(plain, conversation, thoughts)
        try:
            reply = await self.inner.complete(plain, conversation, thoughts)
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


def _only_thoughts(emit: Emit) -> Emit:
    """Return what passes reasoning on as it streams; the JSON of an answer is not for people."""

    async def pass_on(delta: Delta) -> None:
        if isinstance(delta, TextDelta) and delta.thinking:
            await emit(delta)

    return pass_on


def _step(reply: Reply, text: str, names: Sequence[str]) -> Step:
    if reply.stop is Stop.LENGTH:
        raise FormError("the answer was cut by the output limit and nothing of it was done; answer shorter")
    return parse(text, names)


def _reply(step: Step, text: str, own: Reply, place: int) -> Reply:
    items: list[Item] = [item for item in own.items if isinstance(item, Opaque)]
    items.append(Opaque(OWN, text))
    if step.message:
        items.append(Text("assistant", step.message))
    # The place in the history makes the ids unique in a conversation and the same on every replay.
    items += [Call(f"call_{place}_{n}", name, args) for n, (name, args) in enumerate(step.actions)]
    return evolve(own, items=tuple(items), stop=Stop.CALLS if step.actions else Stop.END)


def _plain(request: Request) -> Request:
    """Return the request as text alone, its marks on what the marked items became."""
    system = (*request.system, section(request.tools))
    items: list[Item] = []
    marked: set[int] = set()
    place = 0
    for assistant, group in groupby(request.items, key=_by_assistant):
        members = list(group)
        old = range(place, place + len(members))
        place += len(members)
        made = list(_assistant(members) if assistant else map(_of_user, members))
        if assistant and not request.marks.items.isdisjoint(old):
            marked.add(len(items) + len(made) - 1)
        elif not assistant:
            marked.update(len(items) + n for n, index in enumerate(old) if index in request.marks.items)
        items += made
    marks = Marks(tools=False, system=request.marks.system or request.marks.tools, items=frozenset(marked))
    return evolve(request, tools=(), system=system, items=tuple(items), marks=marks)


def _of_user(item: Item) -> Item:
    return Text("user", f"Result of {item.call_id}:\n{item.text}") if isinstance(item, Result) else item


def _assistant(members: Sequence[Item]) -> Iterator[Item]:
    """Yield a model's own blocks, then its words."""
    for item in members:
        if isinstance(item, Opaque) and item.provider != OWN:
            yield item
    yield Text("assistant", _own_words(members))


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
