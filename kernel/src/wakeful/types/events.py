"""What a caller of ``app.stream`` sees, in the order it happens.

A sub-agent's run has its own context and transcript, so what happens in it is not among the events of the run
that delegates, which are the call and its result. What it asks people for is: ``RunEnded`` has it as pending.
"""

from __future__ import annotations

from attrs import frozen

from wakeful.types.actions import ActionResult, Invocation
from wakeful.types.approvals import ApprovalRequest
from wakeful.types.enums import Verdict
from wakeful.types.prompt import Break, Reply
from wakeful.types.run import Answer


@frozen
class RunStarted:
    """A run began."""

    run_id: str
    conversation: str
    agent: str


@frozen
class EpochStarted:
    """The prefix changed, and why; the provider's cache starts anew."""

    run_id: str
    epoch: int
    reason: str


@frozen
class StepStarted:
    """A model is about to be asked."""

    run_id: str
    step: int


@frozen
class TextDelta:
    """A piece of the reply, as it streams. ``thinking`` marks reasoning that is shown apart."""

    text: str
    thinking: bool = False


@frozen
class TextWithdrawn:
    """The partial text of this step shown so far is void; the reply is being asked for again."""

    reason: str


@frozen
class TryFailed:
    """The model could not answer, for a reason that may pass; it is asked again in ``pause_s`` seconds."""

    reason: str
    pause_s: float


@frozen
class ReplyReceived:
    """A whole reply is recorded."""

    run_id: str
    step: int
    reply: Reply


@frozen
class PrefixBreak:
    """A request did not repeat the one before it: where, whose that is, and what it cost. After its reply."""

    run_id: str
    step: int
    change: Break


@frozen
class CallJudged:
    """A call was not simply allowed; says how it was judged and why."""

    invocation: Invocation
    verdict: Verdict
    reason: str


@frozen
class PersonAsked:
    """A request for a person is stored; for channels that notify people."""

    run_id: str
    request: ApprovalRequest


@frozen
class ActionStarted:
    """An action is about to run."""

    invocation: Invocation


@frozen
class ActionEnded:
    """A call has its result; ``text`` is what the model will read. In call order."""

    invocation: Invocation
    result: ActionResult
    text: str


@frozen
class MessageChanged:
    """What is sent of a row changed, or (``expanded``) its original was shown again. Rows stay as they are.

    ``kind`` is ``compacted``, ``expired``, ``removed``, ``shortened`` or ``expanded``; ``index`` is the
    item's place in the row, ``turn`` the turn that added it.
    """

    run_id: str
    kind: str
    sequence: int
    index: int
    turn: int
    reason: str
    tokens_saved: int
    plugin: str = ""


@frozen
class Notice:
    """Something failed or was left out without breaking the run; ``source`` names who."""

    source: str
    message: str


@frozen
class RunEnded:
    """The last event of every run."""

    answer: Answer


Event = (
    RunStarted
    | EpochStarted
    | StepStarted
    | TextDelta
    | TextWithdrawn
    | TryFailed
    | ReplyReceived
    | PrefixBreak
    | CallJudged
    | PersonAsked
    | ActionStarted
    | ActionEnded
    | MessageChanged
    | Notice
    | RunEnded
)
Delta = TextDelta | TextWithdrawn | TryFailed
