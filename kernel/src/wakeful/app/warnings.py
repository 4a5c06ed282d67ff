"""What a careful owner should know of how an agent is put together, for ``wakeful doctor``.

The kernel knows no plugin by name. What the plugins make of calls is found by asking them about calls that
nobody makes, in a run that has read nothing and in one that has read outside text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from attrs import frozen

from wakeful.app.definition import Blueprint
from wakeful.loop.agent import BuiltAgent
from wakeful.policy import counted
from wakeful.types import (
    Action,
    Call,
    Effect,
    Epoch,
    Invocation,
    Judgement,
    PluginError,
    Result,
    Row,
    RowKind,
    Run,
    RunStatus,
    Trust,
    Verdict,
    canonical,
)

#: Actions that one warning names.
NAMED: Final = 8
_RUN: Final = "run-asked"
_WHEN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_HELD: Final = frozenset({Verdict.AUTO_REVIEW, Verdict.STAGE, Verdict.REQUIRE_APPROVAL})


@frozen
class Asked:
    """What an agent's plugins say about a call of each action, before and after outside text.

    ``weighed`` says whether what was read changes what any of them says of anything that reaches outside.
    """

    actions: Mapping[str, Action]
    clean: Mapping[str, Judgement | None]
    tainted: Mapping[str, Judgement | None]
    weighed: bool

    @property
    def risky(self) -> tuple[str, ...]:
        """The actions that can reach outside or cannot be undone."""
        return tuple(sorted(name for name, action in self.actions.items() if reaches(action)))

    @property
    def judged(self) -> bool:
        """Whether anybody has an opinion on any call."""
        return any((*self.clean.values(), *self.tainted.values()))

    def end_in(self, *verdicts: Verdict) -> list[str]:
        """Return the actions of which a call ends in one of the verdicts."""
        return sorted(
            name
            for name in self.actions
            if {verdict(self.clean[name]), verdict(self.tainted[name])} & set(verdicts)
        )


def reaches(action: Action) -> bool:
    """Whether calls of an action can reach outside or cannot be undone."""
    return action.effect in {Effect.EXTERNAL, Effect.FETCH} or bool(action.external_if_present)


def verdict(judgement: Judgement | None) -> Verdict:
    """Return a verdict; nobody's is ALLOW."""
    return judgement.verdict if judgement is not None else Verdict.ALLOW


def warnings(agent: BuiltAgent, plan: Blueprint) -> tuple[str, ...]:
    """Return what should be known of a built agent, one sentence each."""
    asked = ask(agent)
    return (*_settings(agent, plan), *_defences(agent, asked), *_told(agent))


def ask(agent: BuiltAgent) -> Asked:
    """Ask the plugins of an agent about a call of each of its actions."""
    clean, tainted = (_answers(agent, _run(agent, tainted=each)) for each in (False, True))
    risky = [name for name, action in agent.actions.items() if reaches(action)]
    # A rule may be as strict already, so that what becomes of a call stays the same.
    weighed = any(list(map(verdict, clean[name])) != list(map(verdict, tainted[name])) for name in risky)
    return Asked(agent.actions, _strictest(clean), _strictest(tainted), weighed)


def _answers(agent: BuiltAgent, run: Run) -> dict[str, Sequence[Judgement]]:
    found = {}
    for name, action in agent.actions.items():
        args = dict.fromkeys(action.external_if_present, "x")
        call = Call("c1", action.tool_name, canonical(args))
        proposal = Invocation(f"{_RUN}/2/0", call, 0, 0, action.tool_name, args)
        found[name] = counted(agent.plugins.verdicts(run, proposal, action, ()))
    return found


def _strictest(answers: Mapping[str, Sequence[Judgement]]) -> dict[str, Judgement | None]:
    return {name: max(said, key=verdict, default=None) for name, said in answers.items()}


def _run(agent: BuiltAgent, *, tainted: bool) -> Run:
    read = Row(1, RowKind.ASSISTANT, (Call("c0", "read", "{}"),), _RUN, 1, 1)
    found = Row(2, RowKind.RESULT, (Result("c0", ""),), _RUN, 1, 1, Trust.UNTRUSTED, "outside")
    return Run(
        id=_RUN,
        agent=agent.view,
        conversation="tainted" if tainted else "clean",
        user="",
        turn=1,
        step=2,
        now=_WHEN,
        secret="",
        status=RunStatus.RUNNING,
        epoch=Epoch(1, "", agent.declared),
        rows=(read, found) if tainted else (),
    )


def _settings(agent: BuiltAgent, plan: Blueprint) -> list[str]:
    found = []
    window = agent.view.profile.window
    if plan.config.context_tokens > window:
        given = f"context_tokens = {plan.config.context_tokens:,}"
        found.append(f"{given} is above the window of {agent.view.model}, {window:,}: the window counts")
    for pattern, override in sorted(plan.config.action_overrides.items()):
        if override.output_trust not in {None, Trust.UNTRUSTED}:
            label = override.output_trust.label if override.output_trust is not None else ""
            found.append(f'action."{pattern}" sets output_trust = "{label}": what it returns is believed')
    return found


def _defences(agent: BuiltAgent, asked: Asked) -> list[str]:
    found = []
    outside = sorted(n for n, a in agent.actions.items() if a.output_trust is not Trust.TRUSTED)
    if asked.risky and not asked.judged:
        found.append(
            f"no plugin judges calls, and these can reach outside or cannot be undone: {some(asked.risky)}"
        )
    open_ = [name for name in asked.risky if verdict(asked.tainted[name]) is not Verdict.DENY]
    if open_ and asked.judged and not asked.weighed:
        said = [f"{name} ({verdict(asked.tainted[name]).name.lower()})" for name in open_]
        found.append(
            "no plugin weighs what a run has read, so outside text can ask for these as the user can: "
            + some(said)
        )
    if outside and agent.plugins.slot_owner("result_envelope") is None:
        found.append(f"no plugin marks outside text as data; it comes from: {some(outside)}")
    reviewed = asked.end_in(Verdict.AUTO_REVIEW)
    if reviewed and agent.plugins.slot_owner("policy_reviewer") is None:
        found.append(f"no plugin reviews calls: a person is asked about them, such as {some(reviewed)}")
    if agent.approvals is not None and not agent.view.approvers:
        found.append("approvers names nobody: only an assignee, or an asker where a rule says so, can decide")
    if agent.approvals is None and asked.judged:
        held = asked.end_in(*_HELD)
        such = f", such as {some(held)}" if held else ""
        found.append(f"no plugin stores approvals: whatever needs one is denied{such}")
    return found


def _told(agent: BuiltAgent) -> list[str]:
    """Return what the plugins themselves say."""
    try:
        found = agent.plugins.warnings(agent.view, agent.actions)
    except PluginError as error:
        return [str(error)]
    return [f"{plugin}: {text}" for plugin, text in found]


def some(names: Sequence[str]) -> str:
    """Return names, the first of many."""
    left = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {left} more" if left > 0 else "")
