"""Changes of one run's actions: what the caller adds or takes away, and how far down that reaches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from attrs import asdict, evolve

from wakeful.loop.agent import BuiltAgent
from wakeful.loop.plan import taken_away
from wakeful.types import (
    Action,
    ActionChange,
    ActionContext,
    ActionResult,
    ConfigError,
    Effect,
    Json,
    Problem,
    Run,
    nearest,
)

#: Namespace and key of a run's options where the kernel keeps them.
OWN: Final = ""
KEY: Final = "action_changes"

#: Finds the actions that a reference like ``crm:*`` means.
Find = Callable[[str], Sequence[Action]]


def dump_changes(changes: Sequence[ActionChange]) -> list[Json]:
    """Return changes as JSON."""
    return [asdict(change) for change in changes]


_KINDS = ("add", "remove")
_SCOPES = ("root", "global", "all_subagents", "specific")


def with_changes(
    agent: BuiltAgent,
    options: Mapping[str, Mapping[str, Json]],
    changes: Sequence[ActionChange],
    find: Find,
) -> dict[str, Mapping[str, Json]]:
    """Return the options of a run with changes of its actions in them.

    Raises:
        ConfigError: a change says what cannot be; or adds an action for an agent whose model is shown all
            actions when a conversation begins, and none later.
    """
    own = {name: value for name, value in options.items() if name != OWN}  # the kernel's are not the caller's
    if not changes:
        return own
    problems = []
    for index, change in enumerate(changes):
        where = f"action_changes[{index}]"
        for what, value, known in (("kind", change.kind, _KINDS), ("scope", change.scope, _SCOPES)):
            if value not in known:
                problems.append(Problem(where, f"unknown {what} {value!r}{nearest(value, known)}"))
        if (change.scope == "specific") != bool(change.agents):
            problems.append(Problem(where, "agents are named with the scope 'specific', and only with it"))
    adds = [change for change in applying(changes, agent.name) if change.kind == "add"]
    if adds and agent.slot("tool_offer") == "kernel":
        what = f"{agent.name} shows a model all of its actions when a conversation begins; to add one later,"
        problems.append(Problem("action_changes", f"{what} enable a plugin that fills tool_offer"))
    if problems:
        raise ConfigError(problems)
    added(changes, find)
    return {**own, OWN: {KEY: dump_changes(changes)}}


def changes_of(options: Mapping[str, Mapping[str, Json]]) -> tuple[ActionChange, ...]:
    """Return the changes that the options of a run hold."""
    return tuple(
        ActionChange(each["kind"], each["action"], each["scope"], tuple(each["agents"]))
        for each in options.get(OWN, {}).get(KEY, ())
    )


def passed_on(changes: Sequence[ActionChange]) -> list[ActionChange]:
    """Return what of a run's changes holds for a sub-agent: ``all_subagents`` is ``global`` from there on."""
    kept = [change for change in changes if change.scope != "root"]
    return [evolve(each, scope="global") if each.scope == "all_subagents" else each for each in kept]


def applying(changes: Sequence[ActionChange], agent: str) -> list[ActionChange]:
    """Return the changes that hold for a run of an agent itself."""
    return [
        change
        for change in changes
        if change.scope in {"root", "global"} or (change.scope == "specific" and agent in change.agents)
    ]


def changed(agent: BuiltAgent, run: Run, find: Find) -> BuiltAgent:
    """Return the agent as it is for one run.

    What is declared to the model stays as it is before the next epoch: an added action is reached through
    the offer, one that was taken away is refused when it is called.

    Args:
        agent: as built.
        run: with its options.
        find: the actions that a reference like ``crm:*`` means.
    """
    changes = applying(changes_of(run.options), agent.name)
    if not changes:
        return agent
    new = {name: action for name, action in added(changes, find).items() if name not in agent.actions}
    gone = frozenset(change.action for change in changes if change.kind == "remove")
    # A call inside of another call finds an action that refuses; a model's own is refused before.
    refusing = {name: _refusing(agent.actions[name]) for name in gone if name in agent.offered}
    actions, offered = {**agent.actions, **new, **refusing}, {**agent.offered, **new, **refusing}
    return evolve(agent, actions=actions, offered=offered, removed=gone)


def added(changes: Sequence[ActionChange], find: Find) -> dict[str, Action]:
    """Return the actions that changes add, by tool name."""
    found: dict[str, Action] = {}
    for change in changes:
        if change.kind == "add":
            found |= {action.tool_name: action for action in find(change.action)}
    return found


def catalogue(known: Mapping[str, Action], run: Run, find: Find) -> Mapping[str, Action]:
    """Return what a run may call of what its agent may call, with what its caller added."""
    changes = applying(changes_of(run.options), run.agent.name)
    if not changes:
        return known
    gone = {change.action for change in changes if change.kind == "remove"}
    both = {**added(changes, find), **known}
    return {name: both[name] for name in sorted(both) if name not in gone}


def _refusing(action: Action) -> Action:
    async def refuse(args: Mapping[str, Json], ctx: ActionContext) -> ActionResult:  # noqa: ARG001  (as actions are called)
        return taken_away(action.tool_name)

    return evolve(action, run=refuse, effect=Effect.READ)
