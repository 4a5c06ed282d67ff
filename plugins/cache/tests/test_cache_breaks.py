"""The known ways to break a prefix: each is closed where it can be, and named where it cannot."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from plugins.cache.tests.toys_cache import (
    Announced,
    Board,
    Clocky,
    Late,
    Manifest,
    Planner,
    Skills,
    Sliding,
    Volatile,
    look,
    unlocked,
)
from wakeful import Agent, action
from wakeful.testing import ScriptedModel, say, shown
from wakeful.types import ConfigError, Profile, Request

LOOK = say(calls=[("look", {"key": "k" * 40, "at": "here"})])
STEPS = (LOOK, LOOK, LOOK, "Done.")


def prefixes(requests: Sequence[Request]) -> set[str]:
    """Return the spellings of tools and system text that occur."""
    return {repr(([tool.spelling for tool in r.tools], r.system)) for r in requests}


def repeated(requests: Sequence[Request]) -> bool:
    """Whether each request begins with all items, tools and sections of the one before, state included."""
    return all(
        (a.tools, a.system, a.items) == (b.tools, b.system, b.items[: len(a.items)])
        for a, b in itertools.pairwise(requests)
    )


class Stage:
    """Runs turns of one conversation, each in an application of its own, as after a restart."""

    def __init__(self, run_turn: Callable[..., Any], **agent: Any) -> None:
        self.run_turn, self.agent = run_turn, agent
        self.requests: list[Request] = []

    def turn(self, *plugins: Any, replies: Sequence[Any] = STEPS, **agent: Any) -> Any:
        model = ScriptedModel(list(replies), Profile("scripted", "breakpoint", minimum=0))
        settings = {"actions": [look], "instructions": "Help.", **self.agent, **agent}
        made = Agent(model=model, plugins=["cache", *plugins], **settings)
        result = self.run_turn(made, "Hello", conversation="c-1")
        self.requests += model.requests
        return result


@pytest.fixture
def stage(run_turn: Callable[..., Any]) -> Stage:
    return Stage(run_turn)


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.mark.parametrize("kind", [Manifest, Planner, Clocky, Skills])
def test_what_a_plugin_declares_is_frozen_while_it_runs(
    stage: Stage, board: Board, kind: type, assert_prefix_stable: Any
) -> None:
    """An artifact manifest, a plan's approval, the time and unlocked skills do not move the prefix."""
    plugin = kind(board)

    def changes(request: Request) -> Any:
        board.artifacts.append(f"[{len(request.items)}]")
        board.plan, board.skill, board.now = "approved", True, f"09:{len(request.items):02}"
        return LOOK

    stage.turn(plugin, replies=[changes, changes, changes, "Done."])
    assert len(prefixes(stage.requests)) == 1
    assert repeated(stage.requests)
    assert_prefix_stable("c-1", declared=False)


@pytest.mark.parametrize(
    ("kind", "section"),
    [(Manifest, "section manifest"), (Planner, "section plan"), (Clocky, "section clock")],
)
def test_a_section_that_changes_by_itself_is_named(
    stage: Stage, board: Board, kind: type, section: str, assert_prefix_stable: Any
) -> None:
    stage.turn(kind(board))
    board.artifacts, board.plan, board.now = ["[A]"], "approved", "10:30"
    stage.turn(kind(board))
    with pytest.raises(AssertionError, match=f"undeclared break of the prefix: {section} of plugin"):
        assert_prefix_stable("c-1")


def test_a_tool_that_a_plugin_adds_later_starts_an_epoch(
    stage: Stage, board: Board, assert_prefix_stable: Any
) -> None:
    stage.turn(Skills(board))
    board.skill = True
    stage.turn(Skills(board))
    assert_prefix_stable("c-1")
    with pytest.raises(
        AssertionError, match=r"declared break of the prefix: tool unlocked of plugin .skills"
    ):
        assert_prefix_stable("c-1", declared=False)
    assert unlocked.tool_name in [tool.name for tool in stage.requests[-1].tools]


def test_a_sliding_rewrite_is_named_with_the_message_and_both_texts(
    stage: Stage, assert_prefix_stable: Any
) -> None:
    stage.turn(Sliding())
    with pytest.raises(AssertionError) as caught:
        assert_prefix_stable("c-1")
    text = str(caught.value)
    assert "undeclared break of the prefix: message 2 of plugin 'sliding'" in text
    assert "kkkk" in text.splitlines()[1]
    assert "kkkk" not in text.splitlines()[2]


def test_a_rewrite_with_a_name_is_declared(stage: Stage, assert_prefix_stable: Any) -> None:
    stage.turn(Announced())
    assert_prefix_stable("c-1")
    with pytest.raises(AssertionError, match="declared break of the prefix: message 2 of plugin 'announced'"):
        assert_prefix_stable("c-1", declared=False)


def test_strict_fails_the_run(stage: Stage) -> None:
    result = stage.turn(Sliding(), settings={"cache": {"strict": True}})
    assert result.answer.status.value == "failed"
    assert "undeclared break of the prefix: message 2" in result.answer.error
    assert stage.turn(Announced(), settings={"cache": {"strict": True}}).answer.status.value == "completed"


def test_context_stands_at_the_end_in_a_fixed_order_whatever_finishes_first(
    stage: Stage, assert_prefix_stable: Any
) -> None:
    for pauses in ((0, 5), (5, 0), (2, 1)):
        stage.turn(Late("beta", [pauses[0]]), Late("alpha", [pauses[1]]), Volatile())
    blocks = [shown(r.items[-r.state]) for r in stage.requests if r.state]
    assert all(block.index("alpha") < block.index("beta") for block in blocks if "remembers" in block)
    assert repeated(stage.requests)
    assert "remembers" not in shown(stage.requests[0].items[0])
    assert_prefix_stable("c-1", declared=False)


def test_what_changes_between_steps_moves_no_byte_before_it(stage: Stage) -> None:
    for _ in range(3):
        stage.turn(Volatile())
    assert repeated(stage.requests)
    assert len(prefixes(stage.requests)) == 1


@pytest.mark.parametrize("place", ["{{ conversation.length }}", "{{has_context}}"])
def test_placeholders_are_refused(run_turn: Callable[..., Any], tmp_path: Any, place: str) -> None:
    file = tmp_path / "wakeful.toml"
    file.write_text(
        f'[agents.desk]\nmodel = "replay:x.jsonl"\ninstructions = "You had {place}."\n', encoding="utf-8"
    )
    told = r"instructions are plain text.*runtime-state fragment.*'(conversation length|has context)'"
    with pytest.raises(ConfigError, match=told):
        run_turn(file, "Hello")
    with pytest.raises(ConfigError, match=told):
        run_turn(Agent(model=ScriptedModel([]), instructions=f"You had {place}."), "Hello")


def test_the_order_in_which_tools_and_keys_are_declared_does_not_matter(stage: Stage) -> None:
    @action("Look", effect="read", output_trust="trusted")
    async def turned(at: str = "", key: str = "") -> str:
        """Look something up.

        Args:
            at: where.
            key: what for.
        """
        return at + key

    stage.turn(actions=[look, unlocked])
    stage.turn(actions=[unlocked, turned])
    assert len(prefixes(stage.requests)) == 1
    assert repeated(stage.requests)


def test_the_last_tool_carries_a_breakpoint_the_state_none(stage: Stage) -> None:
    stage.turn(Volatile())
    stage.turn(Volatile(), settings={"cache": {"retention": "replace"}})
    for request in stage.requests:
        assert request.marks.tools
        assert request.marks.system
    for request in stage.requests[len(STEPS) :]:
        assert max(request.marks.items) == len(request.items) - request.state - 1
