"""Annotations of hooks that contradict what the kernel declares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kernel.tests.plugins.hook_doubles import VIEW, problems
from wakeful import hookimpl
from wakeful.plugins.hooks import AgentPlugins
from wakeful.types import AgentView, Answer, Fragment, Invocation, Judgement, Layout, Run, Section, View

if TYPE_CHECKING:
    from decimal import Decimal as Unresolvable


def test_annotations_that_contradict_the_hook_are_named_on_both_sides() -> None:
    class Drifted:
        @hookimpl
        def prompt_state(self, run: AgentView) -> Sequence[Section]:
            return ()

        @hookimpl
        def prompt_sections(self, agent: int) -> str:
            return ""

    assert problems(Drifted()) == [
        "plugin 'mine': prompt_sections: argument 'agent' is int, expected wakeful.types.agent.AgentView",
        (
            "plugin 'mine': prompt_sections: returns str, "
            "expected collections.abc.Sequence[wakeful.types.prompt.Section]"
        ),
        (
            "plugin 'mine': prompt_state: argument 'run' is wakeful.types.agent.AgentView, "
            "expected wakeful.types.run.Run"
        ),
        (
            "plugin 'mine': prompt_state: returns collections.abc.Sequence[wakeful.types.prompt.Section], "
            "expected collections.abc.Sequence[wakeful.types.prompt.Fragment] | None"
        ),
    ]


def test_narrower_results_and_wider_arguments_are_no_drift() -> None:
    class HasName(Protocol):
        name: str

    class Window:
        def select(self, run: Run) -> View:
            return View(run.rows)

    class Fine:
        @hookimpl
        def prompt_sections(self, agent: object) -> list[Section]:
            return [Section("mine", 1, "text")]

        @hookimpl
        def prompt_state(self, run: Run | None) -> Iterator[Fragment]:
            yield Fragment("mine", 1, "text")

        @hookimpl
        def prompt_window(self, agent: HasName) -> Window | None:
            return Window()

        @hookimpl
        def policy_verdict(self, earlier: Sequence[Any]) -> Judgement:
            return Judgement(0)  # type: ignore[arg-type]  # wrong on purpose

        @hookimpl
        async def turn_ended(self, run: Run, answer: Answer) -> None: ...

    assert AgentPlugins({"mine": Fine()}).sections(VIEW) == (Section("mine", 1, "text"),)


def test_an_argument_may_not_be_narrower_and_a_slot_needs_its_methods() -> None:
    class Drifted:
        @hookimpl
        def policy_verdict(self, earlier: tuple[Invocation, ...]) -> None: ...

        @hookimpl
        def prompt_layout(self) -> AgentView:
            return VIEW

    lines = problems(Drifted())
    assert "argument 'earlier' is tuple[wakeful.types.actions.Invocation, ...]" in lines[0]
    assert f"expected {Layout.__module__}.Layout" in lines[1]


def test_one_hint_that_does_not_resolve_does_not_hide_the_others() -> None:
    class Partly:
        @hookimpl
        def policy_verdict(self, run: Unresolvable, action: Run) -> Unresolvable:
            return run

    assert problems(Partly()) == [
        (
            "plugin 'mine': policy_verdict: argument 'action' is wakeful.types.run.Run, "
            "expected wakeful.types.actions.Action"
        )
    ]
