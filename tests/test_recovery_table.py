"""A failed result alone is enough to succeed: a mechanical repairer reads it and tries once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve, field

from tests.repairer import repair
from tests.wrong_calls import ACTIONS, CALLS, HIDDEN, Wrong, make_shop
from wakeful import Agent
from wakeful.testing import ScriptedModel, say
from wakeful.types import (
    ActionEnded,
    Call,
    Expiration,
    Profile,
    Reply,
    Request,
    Result,
    Stop,
    Text,
    Usage,
    canonical,
)

#: Of the wrong calls, those that must succeed on the second call.
LEAST, ALL = 55, 60


@define
class Learner:
    """A model that makes a wrong call, reads the failed result, and tries once more."""

    wrong: dict[str, Wrong]
    profile: Profile = Profile("learner")
    called: dict[str, tuple[str, dict[str, Any]]] = field(factory=dict)

    async def complete(self, request: Request, conversation: str, emit: Any = None) -> Reply:
        """Make the next call of a conversation."""
        wrong = self.wrong[conversation]
        results = [item for item in request.items if isinstance(item, Result)]
        step = len(results) - len(wrong.before)
        if step < 0:
            call = wrong.before[len(results)]
        elif step == 0:
            call = (wrong.tool, wrong.args)
        elif step == 1 and results[-1].failed:
            call = repair(*self.called[conversation], results[-1].text)
        else:
            return Reply((Text("assistant", "Done."),), Usage(), Stop.END)
        self.called[conversation] = call
        return Reply((Call(f"call_{len(results)}", call[0], canonical(call[1])),), Usage(), Stop.CALLS)


async def played(app: Any, conversation: str) -> list[ActionEnded]:
    stream = app.stream("agent", "Go", conversation=conversation)
    return [event async for event in stream if isinstance(event, ActionEnded)]


@pytest.fixture
def agent(tmp_path: Path) -> Callable[[dict[str, Wrong]], Agent]:
    """Make the agent; names of tools are not repaired, so that their failed results can be read."""
    make_shop(tmp_path)
    hidden = {"hidden_tables": ["payroll", "audit_*"], "hidden_columns": ["customer.ssn"]}
    settings: dict[str, dict[str, Any]] = {
        "records": {"url": "sqlite:///shop.db", **hidden},
        "recovery": {"repair_names": False},
    }

    def build(wrong: dict[str, Wrong]) -> Agent:
        plugins = ["recovery", "lifecycle", "records", "spillover"]
        store = f"sqlite:///{tmp_path / 'desk.db'}"  # with the tables of the plugins
        return Agent(model=Learner(wrong), actions=ACTIONS, plugins=plugins, settings=settings, store=store)

    return build


async def test_the_failed_result_is_enough(
    wakeful_app: Any, agent: Callable[[dict[str, Wrong]], Agent]
) -> None:
    wrong = {f"c-{number:02}": call for number, call in enumerate(CALLS)}
    learned: list[tuple[Wrong, list[str]]] = []
    lost: list[tuple[Wrong, list[str]]] = []
    shown: list[tuple[Wrong, str]] = []
    async with wakeful_app(agent(wrong)) as app:
        for conversation, call in wrong.items():
            ended = (await played(app, conversation))[len(call.before) :]
            assert not ended[0].result.success, f"{call} is not wrong: {ended[0].text}"
            shown += [(call, each.text) for each in ended]
            (learned if ended[-1].result.success else lost).append((call, [each.text for each in ended]))
    said = "\n\n".join(f"{call}\n" + "\n".join(texts) for call, texts in lost)
    assert len(CALLS) >= ALL
    assert len(learned) >= LEAST, said
    assert {call.kind for call, _ in lost} <= {"hidden"}, said
    for call, text in shown:
        given = canonical(call.args)
        named = [word for word in HIDDEN if word in text and word not in given]
        assert named == [], f"{call}\n{text}"


async def test_a_repaired_name_needs_no_second_call(
    wakeful_app: Any, agent: Callable[[dict[str, Wrong]], Agent]
) -> None:
    calls = [call for call in CALLS if call.kind in {"tool case", "tool prefix"}]
    wrong = {f"c-{number}": call for number, call in enumerate(calls)}
    made = agent(wrong)
    repairing = evolve(made, settings={**made.settings, "recovery": {}})
    async with wakeful_app(repairing) as app:
        for conversation, call in wrong.items():
            (ended,) = await played(app, conversation)
            assert ended.result.success, ended.text
            assert json.loads(ended.invocation.call.args) == call.args


async def test_names_are_repaired_with_the_multiplexer_too(
    wakeful_app: Any, agent: Callable[[dict[str, Wrong]], Agent]
) -> None:
    inner = {
        "actions": [{"action_name": "SendMessage", "parameters": {"to": "a@example.com", "subject": "Hi"}}]
    }
    calls = [
        *(call for call in CALLS if call.kind in {"tool case", "tool prefix"}),
        Wrong("wrapper", "functions.execute_discovered_action", inner),
        Wrong("wrapper", "executeDiscoveredAction", inner),
    ]
    wrong = {f"c-{number}": call for number, call in enumerate(calls)}
    made = agent(wrong)
    settings = {**made.settings, "recovery": {}, "multiplexer": {"mode": "always"}}
    hiding = evolve(made, plugins=[*made.plugins, "multiplexer"], settings=settings)
    async with wakeful_app(hiding) as app:
        for conversation in wrong:
            (ended,) = await played(app, conversation)
            assert ended.invocation.action == "send_message"
            assert ended.result.success, ended.text


async def test_a_wrong_sequence_is_corrected_from_the_failed_result_too(wakeful_app: Any) -> None:
    shrinks = Expiration(0, "compact", "first_n_chars", 100)
    read = next(each for each in ACTIONS if each.tool_name == "list_numbers")
    wrong = ("expand_message", {"sequence": 99})

    def corrected(request: Request) -> Any:
        (failed,) = [item for item in request.items if isinstance(item, Result) and item.failed]
        return say(calls=[repair(*wrong, failed.text)])

    replies: list[Any] = [
        say(calls=[("list_numbers", {"count": 50})]),
        "Read.",
        say(calls=[wrong]),
        corrected,
        "Done.",
    ]
    agent = Agent(
        model=ScriptedModel(replies),
        actions=[evolve(read, expiration=shrinks)],
        plugins=["recovery", "lifecycle"],
    )
    async with wakeful_app(agent) as app:
        await app.send("agent", "Read", conversation="c")
        first, second = await played(app, "c")
    assert first.result.code == "UNKNOWN_SEQUENCE"
    assert second.result.success, second.text
    assert "word" in second.text
