"""Whether a call was made before in its conversation, however it is spelled and whoever made it."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence

from attrs import define, field

from wakeful.types import Invocation, Run, canonical
from wakeful_taint.seen import Seen
from wakeful_taint.texts import normal

#: Conversations whose sub-agents' calls are remembered from being judged until they are stored.
KEPT = 4_096

#: Tool name and arguments of a call, as :func:`normal` spells them.
Made = tuple[str, str]


@define
class Below:
    """The calls below a conversation, to their keys: what was stored, and what was judged since."""

    stored: tuple[tuple[str, str, str], ...] = ()
    calls: dict[Made, str] = field(factory=dict)

    def take(self, stored: tuple[tuple[str, str, str], ...]) -> None:
        """Take in what is stored; at once if it is what was taken in last."""
        if stored is self.stored:
            return
        self.stored = stored
        for key, action, args in stored:
            self.calls.setdefault((action, normal(json.loads(args))), key)


class Repeats:
    """Knows the calls of conversations, those of their sub-agents and those inside of other calls included.

    Two sub-agents may propose the same at one time, when neither has stored anything yet; so what is judged
    is remembered here until a later run reads it from the store.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self._below: OrderedDict[str, Below] = OrderedDict()

    def note(self, run: Run, proposal: Invocation) -> None:
        """Remember a call that a sub-agent of a run proposes, or that is proposed inside of another call."""
        self._of(run).calls.setdefault(made(proposal), proposal.key)

    def is_one(
        self,
        runs: Sequence[Run],
        known: Sequence[Seen],
        proposal: Invocation,
        earlier: Sequence[Invocation],
        free: frozenset[str] = frozenset(),
    ) -> bool:
        """Whether a call was made before.

        Args:
            runs: whose call it is, and of sub-agents also the run above.
            known: what their conversations have shown.
            proposal: the call.
            earlier: what its step proposed before it.
            free: arguments in which a repeat may differ.
        """
        same = made(proposal)
        if any(same in seen.calls for seen in known):
            return True
        if any(self._of(run).calls.get(same, proposal.key) != proposal.key for run in runs):
            return True
        ran = (each for run in runs for each in run.outcomes if each.executed and each.action == same[0])
        if any(normal(json.loads(each.args)) == same[1] for each in ran):
            return True  # as it ran, whatever the model wrote
        if any(made(each) == same for each in earlier if each.refusal is None):
            return True
        core = _without(same[1], free)
        before = self._before(runs, known, proposal, earlier) if free else ()
        return any(action == same[0] and _without(args, free) == core for action, args in before)

    def _before(
        self, runs: Sequence[Run], known: Sequence[Seen], proposal: Invocation, earlier: Sequence[Invocation]
    ) -> Iterator[Made]:
        """Yield all calls that were made before a proposal."""
        for seen in known:
            yield from seen.calls
        for run in runs:
            yield from (call for call, key in self._of(run).calls.items() if key != proposal.key)
            done = (each for each in run.outcomes if each.executed and each.action == proposal.action)
            yield from ((each.action, normal(json.loads(each.args))) for each in done)
        yield from (made(each) for each in earlier if each.refusal is None)

    def _of(self, run: Run) -> Below:
        below = self._below.setdefault(run.conversation, Below())
        self._below.move_to_end(run.conversation)
        while len(self._below) > KEPT:
            self._below.popitem(last=False)
        below.take(run.beneath)
        return below


def _without(args: str, free: frozenset[str]) -> str:
    """Return arguments as :func:`normal` spells them without some of them."""
    named = json.loads(args) if free else None
    if not isinstance(named, Mapping):
        return args
    return canonical({name: value for name, value in named.items() if name not in free})


def made(call: Invocation) -> Made:
    """Return a call as it is compared."""
    return call.action, normal(call.args)
