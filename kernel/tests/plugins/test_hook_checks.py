"""What the facade refuses when plugins are registered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from attrs import define

from kernel.tests.plugins.hook_doubles import VIEW, problems
from wakeful import hookimpl
from wakeful.plugins.hooks import AgentPlugins, PlatformPlugins
from wakeful.types import Action, AgentView, ConfigError, Fragment, Invocation, Run, Section


def test_a_misspelt_hook_names_the_plugin_and_the_nearest_hook() -> None:
    class Misspelt:
        @hookimpl
        def prompt_sectionz(self, agent: AgentView) -> Sequence[Section]:
            return ()

    assert problems(Misspelt()) == [
        "plugin 'mine': prompt_sectionz is not a hook; did you mean 'prompt_sections'?"
    ]


def test_a_hook_of_the_other_manager_is_not_misspelt() -> None:
    class Both:
        @hookimpl
        def prompt_sections(self) -> Sequence[Section]:
            return (Section("mine", 1, "text"),)

        @hookimpl
        def store_tables(self) -> Sequence[Any]:
            return ()

    both = Both()
    assert AgentPlugins({"both": both}).sections(VIEW) == (Section("mine", 1, "text"),)
    assert PlatformPlugins({"both": both}).lineages() == ()


def test_the_platform_manager_refuses_a_misspelt_hook_too() -> None:
    class Misspelt:
        @hookimpl
        def model_provider(self) -> Sequence[Any]:
            return ()

    with pytest.raises(ConfigError, match="did you mean 'model_providers'"):
        PlatformPlugins({"mine": Misspelt()})


def test_a_hook_for_a_later_kernel_may_be_marked_optional() -> None:
    class Newer:
        @hookimpl(optionalhook=True)
        def prompt_of_the_future(self) -> None: ...

    assert AgentPlugins({"newer": Newer()}).names == ("newer",)


def test_wrong_arguments_are_all_reported_at_once_with_the_nearest() -> None:
    class Wrong:
        @hookimpl
        def policy_verdict(self, run: Run, propsal: Invocation, acton: Action) -> None: ...

        @hookimpl
        def prompt_state(self, rum: Run) -> None: ...

    assert problems(Wrong()) == [
        "plugin 'mine': policy_verdict has no argument 'acton'; did you mean 'action'?",
        "plugin 'mine': policy_verdict has no argument 'propsal'; did you mean 'proposal'?",
        "plugin 'mine': prompt_state has no argument 'rum'; did you mean 'run'?",
    ]


def test_the_problems_of_all_plugins_are_reported_at_once() -> None:
    class One:
        @hookimpl
        def tool_acts(self) -> None: ...

    class Two:
        @hookimpl
        async def prompt_window(self) -> None: ...

    with pytest.raises(ConfigError) as caught:
        AgentPlugins({"one": One(), "two": Two()})
    assert [str(problem) for problem in caught.value.problems] == [
        "plugin 'one': tool_acts is not a hook; did you mean 'tool_actions'?",
        "plugin 'two': prompt_window must be declared with def, not async def",
    ]


def test_sync_and_async_must_match() -> None:
    class Mixed:
        @hookimpl
        def prompt_context(self) -> None: ...

        @hookimpl
        async def tool_actions(self) -> None: ...

    assert problems(Mixed()) == [
        "plugin 'mine': prompt_context must be declared with async def",
        "plugin 'mine': tool_actions must be declared with def, not async def",
    ]


def test_an_async_generator_is_told_to_return_a_sequence() -> None:
    class Streaming:
        @hookimpl
        async def prompt_context(self) -> Any:
            yield Fragment("one", 1, "text")

    assert problems(Streaming()) == [
        "plugin 'mine': prompt_context is an async generator; it must await and return a sequence"
    ]


def test_arguments_must_be_ordinary_ones() -> None:
    class Odd:
        @hookimpl
        def prompt_state(self, *, run: Run) -> None: ...

        @hookimpl
        def prompt_sections(self, **everything: Any) -> None: ...

        @hookimpl
        def tool_actions(self, agent: AgentView, /) -> None: ...

        @hookimpl
        def tool_middleware(self, *rest: Any) -> None: ...

    assert problems(Odd()) == [
        "plugin 'mine': prompt_sections takes **everything; name the arguments it needs: agent",
        "plugin 'mine': prompt_state: argument 'run' is keyword-only; it must be an ordinary one",
        "plugin 'mine': tool_actions: argument 'agent' is positional-only; it must be an ordinary one",
        "plugin 'mine': tool_middleware takes *rest; name the arguments it needs: agent",
    ]


def test_wrappers_and_ordering_tricks_are_refused_with_what_to_do_instead() -> None:
    class Tricks:
        @hookimpl(wrapper=True)
        def tool_actions(self) -> Iterator[None]:
            return (yield)

        @hookimpl(hookwrapper=True)
        def prompt_sections(self) -> Iterator[None]:
            yield

        @hookimpl(tryfirst=True)
        def result_stages(self) -> None: ...

        @hookimpl(trylast=True)
        def policy_verdict(self) -> None: ...

    lines = problems(Tricks())
    assert [line.split(":")[1] for line in lines] == [
        " policy_verdict is marked trylast",
        " prompt_sections is marked hookwrapper",
        " result_stages is marked tryfirst",
        " tool_actions is marked wrapper",
    ]
    assert "return a middleware or a stage instead" in lines[3]


def test_a_hook_method_without_its_mark_is_not_silently_ignored() -> None:
    class Forgot:
        def prompt_sections(self) -> Sequence[Section]:
            return (Section("mine", 1, "text"),)

    assert problems(Forgot()) == [
        "plugin 'mine': prompt_sections is a hook but is not marked with @hookimpl, so it is never called"
    ]


def test_a_method_may_have_its_own_name() -> None:
    class Named:
        @hookimpl(specname="prompt_sections")
        def house_rules(self) -> Sequence[Section]:
            return (Section("rules", 1, "Be brief."),)

    assert AgentPlugins({"mine": Named()}).sections(VIEW) == (Section("rules", 1, "Be brief."),)


def test_a_misspelt_specname_is_refused_and_so_is_a_second_implementation() -> None:
    class Named:
        @hookimpl(specname="prompt_section")
        def a(self) -> None: ...

        @hookimpl(specname="tool_actions")
        def b(self) -> None: ...

        @hookimpl
        def tool_actions(self) -> None: ...

    assert problems(Named()) == [
        "plugin 'mine': prompt_section is not a hook; did you mean 'prompt_sections'?",
        "plugin 'mine': tool_actions is implemented twice (the second time as tool_actions)",
    ]


def test_a_class_instead_of_an_instance_is_refused() -> None:
    class Plugin:
        @hookimpl
        def prompt_sections(self) -> None: ...

    assert "is a class; give an instance of it" in problems(Plugin)[0]


def test_a_raising_property_is_never_touched() -> None:
    class Eager:
        @property
        def client(self) -> None:
            raise RuntimeError("connected while it was registered")

        @hookimpl
        def prompt_sections(self) -> Sequence[Section]:
            return (Section("mine", 1, "text"),)

    assert AgentPlugins({"mine": Eager()}).sections(VIEW) == (Section("mine", 1, "text"),)


def test_a_hook_that_is_a_property_is_refused() -> None:
    class Property:
        @property
        @hookimpl
        def prompt_sections(self) -> Sequence[Section]:
            raise RuntimeError

    assert problems(Property()) == ["plugin 'mine': prompt_sections is a property; a hook must be a method"]


def test_equal_instances_are_two_plugins_under_two_names() -> None:
    @define
    class Rules:
        text: str

        @hookimpl
        def prompt_state(self) -> Sequence[Fragment]:
            return (Fragment("rules", 1, self.text),)

    same = Rules("x")
    plugins = AgentPlugins({"a": Rules("x"), "b": Rules("x"), "c": same, "d": same})
    fragments, failures = plugins.state(None)  # type: ignore[arg-type]  # no run is needed
    assert len(fragments) == 4
    assert failures == ()


def test_static_and_class_methods_can_be_hooks() -> None:
    class Plain:
        @hookimpl
        @staticmethod
        def prompt_sections(agent: AgentView) -> Sequence[Section]:
            return (Section("static", 1, agent.name),)

        @classmethod
        @hookimpl
        def prompt_state(cls) -> Sequence[Fragment]:
            return (Fragment("class", 1, cls.__name__),)

    plugins = AgentPlugins({"mine": Plain()})
    assert plugins.sections(VIEW) == (Section("static", 1, "desk"),)
    assert plugins.state(None)[0] == (Fragment("class", 1, "Plain"),)  # type: ignore[arg-type]  # no run is needed
