"""Actions: declared capabilities, the calls that reach them and the results they give."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from attrs import field, frozen

from wakeful.types.artifacts import Artifact
from wakeful.types.enums import Disposition, Effect, Trust, Verdict
from wakeful.types.json import Json, canonicalise
from wakeful.types.prompt import Section, Tool
from wakeful.types.references import Provenance
from wakeful.types.transcript import Call

if TYPE_CHECKING:
    from wakeful.types.context import ActionContext

#: Longest tool name that both OpenAI and Anthropic accept.
TOOL_NAME_LIMIT = 64


def tool_name(name: str) -> str:
    """Return the tool name of a human name: ``Send Email`` becomes ``send_email``."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").lower()[:TOOL_NAME_LIMIT].rstrip("_")


@frozen
class ResultCode:
    """A code an action may end with, and whether it means success."""

    code: str
    success: bool
    description: str = ""


@frozen
class Param:
    """A parameter. Inside ``Annotated[...]`` only description, role and format are needed.

    Args:
        description: what the model reads.
        role: ``destination``, ``object``, ``value`` or ``content``, for policies.
        format: a JSON-schema format such as ``email``.
        name: the argument's name; taken from the function.
        direction: ``input``, ``output`` or ``both``.
        required: whether a call must give it.
        schema: its JSON schema; taken from the type hint.
    """

    description: str = ""
    role: str = ""
    format: str = ""
    name: str = ""
    direction: str = "input"
    required: bool = True
    schema: Json = None


@frozen
class Expiration:
    """How a result ages in the transcript. Acted upon by a lifecycle plugin.

    Args:
        turns: age in turns after which it applies.
        mode: ``none``, ``remove`` or ``compact``.
        method: for ``compact``: ``first_n_chars`` or ``summary``.
        length: characters kept; required with ``first_n_chars``.
        prompt: for ``summary``: the instruction to the summary model.
    """

    turns: int
    mode: str = "remove"
    method: str = ""
    length: int = 0
    prompt: str = ""


@frozen
class Directive:
    """Advice an action gives the model beside its result; dropped when the result is not trusted."""

    message: str
    type: str = "instruction"
    priority: str = "medium"


@frozen
class InvalidParam:
    """What is wrong with one argument."""

    param: str
    reason: str
    expected_format: str = ""
    allowed_values: tuple[Json, ...] = ()


@frozen
class ErrorRecovery:
    """How to succeed next time; rendered under a failed result."""

    retryable: bool | None = None
    suggestion: str = ""
    suggested_values: tuple[str, ...] = ()
    invalid_params: tuple[InvalidParam, ...] = ()
    valid_example: Json = None
    suggested_next_actions: tuple[str, ...] = ()


@frozen
class Final:
    """Carried by a result that ends the run: the answer's text and what channels do with it."""

    text: str
    disposition: Disposition = Disposition.NOTIFY_USER
    reaction: str | None = None


@frozen
class ActionResult:
    """What an action gave.

    Args:
        success: whether it did what was asked.
        code: its own result code, never replaced by a generic one.
        message: a one-line summary; never the data itself.
        outputs: name to JSON value; also a ``pathlib.Path`` or an iterator of records.
            What is over 50,000 bytes becomes a :class:`Spooled` as it is produced.
        trust: None takes the action's, or the worst that inner calls have given; a value may only worsen
            the action's, and stands for what it was made of.
        source: where the data came from, e.g. an address.
        directives: advice to the model.
        recovery: on failure, how to succeed.
        bounded: set by the stage that bounded the outputs, so that none bounds twice.
        final: ends the run.
        artifacts: what was stored of it under a handle.
        replaces: output to the handle of the artifact that it is a new version of; it keeps that one's name.
        held: the call did not run, and waits for a person; only the kernel says so of a call.
    """

    success: bool = True
    code: str = "SUCCESS"
    message: str = ""
    outputs: Mapping[str, Json] = field(factory=dict)
    trust: Trust | None = None
    source: str = ""
    directives: tuple[Directive, ...] = ()
    recovery: ErrorRecovery | None = None
    bounded: bool = False
    final: Final | None = None
    artifacts: tuple[Artifact, ...] = ()
    replaces: Mapping[str, str] = field(factory=dict)
    held: bool = False


Runner = Callable[[Mapping[str, Json], "ActionContext"], Awaitable[ActionResult]]


@frozen(eq=False)
class Action:
    """A declared capability. ``tool_name`` is its identity within an agent.

    Args:
        name: human name, e.g. ``Send Email``.
        description: when to call it and what it returns.
        schema: JSON schema of the arguments, an object; canonicalised when built.
        run: async ``(arguments, context) -> ActionResult``; arguments are checked before.
        tool_name: derived from ``name`` unless given.
        effect: see :class:`Effect`; silence means ``external``.
        output_trust: see :class:`Trust`; silence means ``untrusted``.
        idempotent: may run again with the same key after a crash.
        can_stage: may be held as a draft.
        external_if_present: arguments that make the call ``external`` when given.
        params, result_codes, keywords, category: for descriptions and discovery.
        tier: cost tier for perception (1 cheapest); 0 = none.
        pinned: stays declared when others are hidden.
        timeout_s: seconds before a call is given up.
        max_executions, min_executions: per run; None = no limit.
        spill_chars: bound of one output in characters; None = the agent's, 0 = never spill.
        spill_kind: what its outputs are where that is not seen from them: ``table``, ``json``, ``text``,
            ``media``.
        expiration: how results age; None = the default of their message type.
        directives_allowed: whether its directives are shown.
        asks_person: it runs only once a person has answered: where it is allowed, it is held.
        message_type: ``action-result``, or another kind for results of loops and sub-agents.
        owner: who declared it (plugin or module), named in collisions.
    """

    name: str
    description: str
    schema: Json = field(converter=canonicalise)
    run: Runner = field(repr=False)
    tool_name: str = field()
    effect: Effect = Effect.EXTERNAL
    output_trust: Trust = Trust.UNTRUSTED
    idempotent: bool = False
    can_stage: bool = False
    external_if_present: tuple[str, ...] = ()
    params: tuple[Param, ...] = ()
    result_codes: tuple[ResultCode, ...] = ()
    keywords: tuple[str, ...] = ()
    category: str = ""
    tier: int = 0
    pinned: bool = False
    timeout_s: float = 120.0
    max_executions: int | None = None
    min_executions: int | None = None
    spill_chars: int | None = None
    spill_kind: str = ""
    expiration: Expiration | None = None
    directives_allowed: bool = True
    asks_person: bool = False
    message_type: str = "action-result"
    owner: str = ""

    @tool_name.default
    def _derive(self) -> str:
        return tool_name(self.name)

    @property
    def roles(self) -> Mapping[str, str]:
        """Argument name to role, for the parameters that have one."""
        return {param.name: param.role for param in self.params if param.role}

    @property
    def changes(self) -> bool:
        """Whether a call may change something, here or elsewhere."""
        return self.effect not in {Effect.READ, Effect.FETCH}

    @property
    def reruns(self) -> bool:
        """Whether an interrupted call may simply run again (else it is a *once* action)."""
        return self.idempotent or not self.changes


@frozen
class Invocation:
    """One proposed execution; a call of a model resolves to one or more.

    Args:
        key: ``<run>/<step>/<index>[/<inner>]``: journal, idempotency, envelope, approval.
        call: the model's call.
        index: its place in the step, from 0.
        inner: its place within the call, from 0.
        action: tool name of the action.
        args: checked and coerced arguments.
        refusal: a result that stands instead of an execution (unknown tool, wrong arguments).
        parent: key of the call that it is a part of, e.g. of a loop; empty for a call of the model.
        provenance: where arguments came from that were taken from somewhere, by a ``$from``.
    """

    key: str
    call: Call
    index: int
    inner: int
    action: str
    args: Json
    refusal: ActionResult | None = None
    parent: str = ""
    provenance: tuple[Provenance, ...] = ()


@frozen
class Judgement:
    """One plugin's word on a proposal.

    Args:
        verdict: what may happen to it.
        reason: why, in one line that the model is shown.
        plugin: whose word it is; filled in by the kernel.
        code: of the result, for a verdict of ``DENY``.
        fallback: it counts only where no other plugin has an opinion on the proposal.
        criteria: for ``AUTO_REVIEW``: what the reviewer is to look at.
        confidence: for ``AUTO_REVIEW``: from which confidence, 0 to 1, a review counts.
        basis: digest of what it rests on, such as the rule that matched; an approval ends with it.
        assignee: for a call held for a person: who is to decide, beside the agent's approvers.
        asker_decides: for a call held for a person: whether the user who asked for it may decide too.
    """

    verdict: Verdict
    reason: str = ""
    plugin: str = ""
    code: str = "POLICY_DENIED"
    fallback: bool = False
    criteria: str = ""
    confidence: float = 0.85
    basis: str = ""
    assignee: str = ""
    asker_decides: bool = False


@frozen
class Offered:
    """What an offer shows: the tools, its stored decision, and sections that go with them."""

    tools: tuple[Tool, ...]
    decision: Json = None
    sections: tuple[Section, ...] = ()
