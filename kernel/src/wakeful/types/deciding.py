"""How a turn decides its next step: what an agent type is told, and what it may answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from attrs import field, frozen

from wakeful.types.actions import Action, ActionResult, Invocation
from wakeful.types.enums import Trust
from wakeful.types.json import Json
from wakeful.types.prompt import Reply
from wakeful.types.references import Referred
from wakeful.types.transcript import Call

if TYPE_CHECKING:
    from wakeful.types.agent import AgentView
    from wakeful.types.errors import Problem
    from wakeful.types.run import Run

#: Plugin name to the values that are saved for it.
Saved = Mapping[str, Mapping[str, Json]]


@frozen
class Ask:
    """The model decides the step.

    Args:
        text: the kernel's wording to the model, appended to the transcript before it is asked; not the
            user's words.
        name: of the step, for the records.
        saved: stored together with the reply.
        parts: what the wording is put together from, in the place of ``text``, where some of it is not
            trusted: the kernel puts that in envelopes, and the wording is believed no further.
    """

    text: str = ""
    name: str = ""
    saved: Saved = field(factory=dict)
    parts: tuple[Referred, ...] = ()


@frozen
class Propose:
    """These calls are the step, without a model. They are checked, judged and recorded like a model's.

    Args:
        calls: at least one; each names an action.
        text: said beside them.
        name: of the step, for the records.
        saved: stored together with the calls.
    """

    calls: tuple[Call, ...]
    text: str = ""
    name: str = ""
    saved: Saved = field(factory=dict)


@frozen
class Finish:
    """The turn ends with this text as its answer, or fails with this error.

    Args:
        text: the answer; None: the last reply is the answer.
        error: why the run failed; empty if it did not.
        saved: stored together with the answer.
        trust: how far the text may be believed, beside what the run's rows say of themselves.
        source: where that came from.
    """

    text: str | None = None
    error: str = ""
    saved: Saved = field(factory=dict)
    trust: Trust = Trust.TRUSTED
    source: str = ""


@frozen
class Wait:
    """Nothing is left to do before a person has decided about a call that is held."""


Next = Ask | Propose | Finish | Wait


@frozen
class Did:
    """One execution of the last step: its result as the action gave it.

    ``held`` waits for a person; a ``draft`` may be carried out much later, and nothing waits for it.
    """

    invocation: Invocation
    result: ActionResult
    held: bool = False
    draft: bool = False


@frozen
class Stepped:
    """The last step: what was said, or ``proposed`` without a model, and what came of its calls."""

    reply: Reply
    did: tuple[Did, ...] = ()
    proposed: bool = False

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of the reply."""
        return tuple(item for item in self.reply.items if isinstance(item, Call))


class AgentType(Protocol):
    """Decides the next step of the turns of one agent.

    It keeps nothing about a run in itself that it cannot find again: a run may go on in another process,
    which asks with the run and its last step.
    """

    @property
    def name(self) -> str:
        """Return what stands in the file: ``type = "…"``."""
        ...

    def problems(self, agent: AgentView, actions: Mapping[str, Action]) -> Sequence[Problem]:
        """Return what is wrong with the agent's configuration for this type.

        Args:
            agent: the agent.
            actions: what it may call, by tool name; a sub-agent is reached by its ``delegate_to_…``.
        """
        ...

    def actions(self) -> Sequence[Action]:
        """Return actions that only this type's own proposals reach; no model is shown them."""
        ...

    async def next_step(self, run: Run, last: Stepped | None) -> Next:
        """Return the next step.

        Args:
            run: the run as it stands.
            last: its last step; None before the first.

        Raises:
            Exception: any; the run fails and says so.
        """
        ...

    async def release(self, run_id: str) -> None:
        """Give back what is held for a run in this process; it has ended, waits, or goes on elsewhere."""
        ...
