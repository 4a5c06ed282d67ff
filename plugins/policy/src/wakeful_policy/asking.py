"""Asking the judges of an agent about a call that nobody made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from attrs import evolve, frozen

import wakeful
from wakeful.app import App
from wakeful.config import StoreConfig, load_config
from wakeful.policy import PersonReviewer, judge
from wakeful.system import SystemClock
from wakeful.tools.arguments import check_arguments
from wakeful.types import (
    Action,
    ActionResult,
    Call,
    ConfigError,
    Epoch,
    Invocation,
    Json,
    Judgement,
    NotFoundError,
    Problem,
    Result,
    Row,
    RowKind,
    Run,
    RunStatus,
    Text,
    Trust,
    canonical,
    nearest,
    tool_name,
)
from wakeful_policy.plugin import Policy
from wakeful_policy.rules import Known, Rules

#: Ids of the run that is made up for the question.
RUN, CONVERSATION = "run-asked", "conversation-asked"


@frozen
class Explained:
    """What would become of a call.

    Args:
        action: what it would execute.
        verdict: of all plugins, before a review.
        answers: every plugin's word.
        rule: the rule that counts for ``policy``; None = its default, or the plugin is off.
        on: whether ``policy`` is on for the agent.
    """

    action: Action
    verdict: Judgement
    answers: tuple[Judgement, ...]
    rule: Known | None
    on: bool


@asynccontextmanager
async def agents(file: Path) -> AsyncIterator[App]:
    """Build the agents of a file over a database in memory; the real one is not touched.

    Raises:
        ConfigError: the file is wrong.
    """
    config = load_config(file)
    async with wakeful.open(evolve(config, store=StoreConfig("sqlite://"))) as app:
        yield app


async def ask(
    app: App,
    name: str,
    action: str,
    args: Json,
    *,
    words: str,
    tainted: bool,
    added: Sequence[Json] = (),
    now: datetime | None = None,
) -> Explained:
    """Return what would become of a call.

    Args:
        app: the agents.
        name: of the agent.
        action: name of the action.
        args: its arguments.
        words: what the user said.
        tainted: whether the run has read outside text.
        added: rules that people have added with their decisions.
        now: when the call is made; None = now.

    Raises:
        NotFoundError: no such agent or action; names the nearest.
        ConfigError: the agent cannot be built, or the arguments do not fit the action.
    """
    problems = app.problems(name) if name in app.names() else ()
    if problems:
        raise ConfigError(list(problems))
    agent = app.agents.get(name)
    if agent is None:
        raise NotFoundError(f"there is no agent {name!r}{nearest(name, app.names())}")
    declared = agent.actions.get(action) or agent.actions.get(tool_name(action))
    if declared is None:
        raise NotFoundError(f"agent {name!r} has no action {action!r}{nearest(action, agent.actions)}")
    checked = check_arguments(declared, args)
    if isinstance(checked, ActionResult):
        raise ConfigError(
            [Problem("args", checked.message.removeprefix(f"{declared.tool_name} was not run: "))]
        )
    now = now or SystemClock().now()
    rows = [Row(1, RowKind.USER, (Text("user", words),), RUN, 1)]
    if tainted:
        read = Call("c0", "read", "{}")
        rows.append(Row(2, RowKind.ASSISTANT, (read,), RUN, 1, 1))
        rows.append(Row(3, RowKind.RESULT, (Result("c0", ""),), RUN, 1, 1, Trust.UNTRUSTED, "outside"))
    run = Run(
        id=RUN,
        agent=agent.view,
        conversation=CONVERSATION,
        user="",
        turn=1,
        step=2,
        now=now,
        secret="",
        status=RunStatus.RUNNING,
        epoch=Epoch(1, "", agent.declared),
        rows=tuple(rows),
        rules=added,
    )
    call = Call("c1", declared.tool_name, canonical(checked))
    inv = Invocation(f"{RUN}/2/0", call, 0, 0, declared.tool_name, checked)
    (judged,) = await judge(agent.plugins, PersonReviewer(), run, [inv], agent.actions)
    given = judged.answers
    # The default reviewer only raises; what plugins said comes before it.
    answers = given[:-1] if given and given[-1] is judged.judgement and len(given) > 1 else given
    rules = _rules(agent.instances, added)
    rule = rules.find(declared, checked, now) if rules is not None else None
    verdict = _strictest(answers) if answers else judged.judgement
    return Explained(declared, verdict, answers, rule, rules is not None)


def moment(text: str) -> datetime | None:
    """Return the time that a text names, UTC unless it says otherwise; None for an empty one.

    Raises:
        ValueError: it names none.
    """
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no time; expected e.g. '2026-03-04T12:00'") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _strictest(answers: tuple[Judgement, ...]) -> Judgement:
    from wakeful.policy import counted

    return max(counted(answers), key=lambda each: each.verdict)


def _rules(instances: Mapping[str, object], added: Sequence[Json]) -> Rules | None:
    found = instances.get("policy")
    return found.rules(added) if isinstance(found, Policy) else None


def rules_of(app: App, name: str, added: Sequence[Json] = ()) -> Rules | None:
    """Return the rules of an agent; None if ``policy`` is off for it.

    Raises:
        NotFoundError: no such agent.
        ConfigError: it cannot be built.
    """
    problems = app.problems(name) if name in app.names() else ()
    if problems:
        raise ConfigError(list(problems))
    agent = app.agents.get(name)
    if agent is None:
        raise NotFoundError(f"there is no agent {name!r}{nearest(name, app.names())}")
    return _rules(agent.instances, added)
