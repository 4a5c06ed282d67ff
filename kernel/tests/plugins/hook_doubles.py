"""Plugins, and a run to ask them about, for the tests of the facade."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from wakeful import hookimpl
from wakeful.plugins.hooks import AgentPlugins
from wakeful.types import (
    Action,
    ActionContext,
    ActionResult,
    AgentView,
    Call,
    ConfigError,
    Declared,
    Epoch,
    Invocation,
    Json,
    Limits,
    Profile,
    Run,
    RunStatus,
)

VIEW = AgentView("desk", "replay:x", Profile("replay"), Limits())
RUN = Run(
    id="run-1",
    agent=VIEW,
    conversation="c-1",
    user="ana",
    turn=1,
    step=1,
    now=datetime(2026, 1, 1, tzinfo=UTC),
    secret="s",
    status=RunStatus.RUNNING,
    epoch=Epoch(1, "first", Declared("replay:x", (), ())),
)


async def nothing(args: Mapping[str, Json], ctx: ActionContext) -> ActionResult:
    return ActionResult()


ACTION = Action("Send Email", "Send it.", {"type": "object"}, nothing)
PROPOSAL = Invocation("run-1/1/0", Call("call-1", "send_email", "{}"), 0, 0, "send_email", {})


def plugin(**hooks: Any) -> object:
    """Return a plugin whose hooks take nothing and give what is given here; an exception is raised."""

    def method(value: Any) -> Any:
        def answer(self: object) -> Any:
            if isinstance(value, BaseException):
                raise value
            return value

        async def later(self: object) -> Any:
            return answer(self)

        return answer, later

    namespace = {
        name: hookimpl(method(value)[name in {"prompt_context", "turn_ended"}])
        for name, value in hooks.items()
    }
    return type("Plugin", (), namespace)()


def problems(plugin: object, name: str = "mine") -> list[str]:
    with pytest.raises(ConfigError) as caught:
        AgentPlugins({name: plugin})
    return [str(problem) for problem in caught.value.problems]
