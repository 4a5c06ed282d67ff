"""Parts of the conformance checks: asking a plugin, running a turn with it, judging its actions."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jsonschema_rs

from wakeful.hookspecs import Kind
from wakeful.testing.subjects import Subject, agent_with, told
from wakeful.tools.describe import DESCRIPTION_LIMIT, describe
from wakeful.types import Action, AgentView, Json, Limits, Profile, canonical

#: Seconds in which the kernel's own tasks of a turn end; those that stay are compared.
SETTLING = 0.2
#: Characters on both sides of the first difference that a message shows.
AROUND = 40

#: What declare and slot hooks are asked with, by the names of their arguments.
_ASKED: Mapping[str, object] = {
    "agent": AgentView("agent", "scripted:any", Profile("scripted"), Limits()),
    "actions": {},
    "options": {},
}


def answers(subject: Subject, plugin: object) -> list[Any]:
    """Return what an instance declares: the answers of its declare and slot hooks."""
    found = []
    for name, kind in subject.hooks(plugin).items():
        if kind in {Kind.DECLARE, Kind.SLOT}:
            hook = getattr(plugin, name)
            takes = inspect.signature(hook).parameters
            found.append(hook(**{arg: value for arg, value in _ASKED.items() if arg in takes}))
    return found


def _spoil(answer: Any) -> None:
    """Change an answer, where it can be changed, as a careless caller might."""
    if isinstance(answer, list):
        answer.append("spoilt")
    elif isinstance(answer, dict):
        answer["spoilt"] = "spoilt"
    elif isinstance(answer, set):
        answer.add("spoilt")


async def turn(subject: Subject, *, spoiling: bool = False) -> list[str]:
    """Run a turn with the plugin; return the names of tasks that stay behind and would not without it.

    Args:
        subject: the plugin.
        spoiling: whether to change everything the instance gives away, before the turn.
    """
    usual = await _tasks_after_a_turn(subject, (), spoiling=False)
    found = await _tasks_after_a_turn(subject, (subject.name,), spoiling=spoiling)
    extra = Counter(kind for kind, _ in found) - Counter(kind for kind, _ in usual)
    return sorted(f"{name} ({kind})" for kind, name in found if kind in extra)


async def _tasks_after_a_turn(
    subject: Subject, plugins: Sequence[str], *, spoiling: bool
) -> list[tuple[str, str]]:
    """Return (coroutine, name) of the tasks that are there when a turn is over and things have settled."""
    before = asyncio.all_tasks()
    async with agent_with(plugins, {subject.name: subject.settings}, subject.folder, ["Hi."]) as app:
        assert not app.problems("agent"), told(app.problems("agent"))
        if spoiling:
            for answer in answers(subject, app.agents["agent"].instances[subject.name]):
                _spoil(answer)
        await app.send("agent", "Hello")
        if left := asyncio.all_tasks() - before:
            await asyncio.wait(left, timeout=SETTLING)
        left = asyncio.all_tasks() - before
    stubborn = {task for task in asyncio.all_tasks() - before if not task.done()}
    return [(getattr(task.get_coro(), "__qualname__", "?"), task.get_name()) for task in left | stubborn]


def same(plugin: str, first: str, other: str, when: str) -> None:
    """Refuse declarations that differ; shows where."""
    if first == other:
        return
    pairs = zip(first, other, strict=False)
    place = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(first), len(other)))
    old, new = (text[max(0, place - AROUND) : place + AROUND] for text in (first, other))
    raise AssertionError(f"plugin {plugin!r}: declares something else {when}: …{old}… became …{new}…")


async def action_problems(subject: Subject) -> list[str]:
    """Return what is wrong with the actions that the plugin declares."""
    plugin = subject.make()
    if "tool_actions" not in subject.hooks(plugin):
        return []
    async with agent_with([subject.name], {subject.name: subject.settings}, subject.folder) as app:
        assert not app.problems("agent"), told(app.problems("agent"))
        return [
            f"action {action.tool_name!r} {what}"
            for action in app.agents["agent"].actions.values()
            for what in _wrong(action)
        ]


def _wrong(action: Action) -> Iterator[str]:
    """Yield what is wrong with one action."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", action.tool_name):
        yield "needs a tool name of at most 64 letters, digits, '_' and '-'"
    if not action.description.strip():
        yield "has no description: say when to call it and what it returns"
    if len(describe(action)) > DESCRIPTION_LIMIT or len(action.description) > DESCRIPTION_LIMIT:
        yield f"has a description of more than {DESCRIPTION_LIMIT} characters"
    schema = action.schema
    if not isinstance(schema, dict) or schema.get("type") != "object":
        yield "needs a schema of type 'object'"
        return
    try:
        jsonschema_rs.meta.validate(schema)
        jsonschema_rs.validator_for(schema)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        yield f"has a schema that is no JSON schema: {str(error).splitlines()[0]}"
        return
    if json.dumps(schema, separators=(",", ":"), ensure_ascii=False) != canonical(schema):
        yield "has a schema that is not in canonical form; build it with wakeful.types.canonicalise"
    properties = schema.get("properties", {})
    known = set(properties) if isinstance(properties, Mapping) else set()
    unknown = sorted(set(schema.get("required", ())) - known)
    if unknown:
        yield f"requires arguments that it does not declare: {', '.join(unknown)}"
    strange = sorted({*(param.name for param in action.params if param.direction != "output")} - known)
    if strange:
        yield f"describes parameters that its schema does not have: {', '.join(strange)}"


def toml(value: Json) -> str:
    """Return a setting as it is written in ``wakeful.toml``."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)
