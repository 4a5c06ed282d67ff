"""How the declarations of plugins are merged, and which are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import define

from kernel.tests.plugins.hook_doubles import ACTION, PROPOSAL, RUN, VIEW, nothing, plugin
from wakeful import hookimpl
from wakeful.plugins.hooks import AgentPlugins, PlatformPlugins
from wakeful.types import (
    Action,
    ActionContext,
    ActionResult,
    AgentView,
    ConfigError,
    Json,
    Lineage,
    Phase,
    PluginError,
    Run,
    Section,
    View,
)


@define
class Stage:
    phase: Phase
    name: str

    async def apply(self, ctx: ActionContext, action: Action | None, result: ActionResult) -> ActionResult:
        return result


@define
class Middleware:
    order: int
    name: str

    async def around(self, ctx: Any, action: Any, args: Any, nxt: Any) -> ActionResult:
        return ActionResult()


class Window:
    def select(self, run: Run) -> View:
        return View(run.rows)


@define
class Provider:
    name: str

    def bind(self, model: str, settings: Json, resolve: Any) -> Any: ...


# ---- declare
def test_sections_are_sorted_by_order_then_name_whatever_the_order_of_the_plugins() -> None:
    one = plugin(prompt_sections=[Section("z", 1, "1"), Section("b", 5, "3")])
    two = plugin(prompt_sections=(Section("a", 5, "2"),))
    expected = ("1", "2", "3")
    for plugins in ({"one": one, "two": two}, {"two": two, "one": one}):
        assert tuple(each.text for each in AgentPlugins(plugins).sections(VIEW)) == expected


def test_two_sections_of_one_name_are_refused_and_name_both_plugins() -> None:
    plugins = {name: plugin(prompt_sections=[Section("rules", 1, name)]) for name in ("beta", "alpha")}
    with pytest.raises(ConfigError, match="section 'rules': declared by 'alpha' and 'beta'"):
        AgentPlugins(plugins).sections(VIEW)


def test_one_plugin_with_a_section_twice_is_refused() -> None:
    twice = plugin(prompt_sections=[Section("rules", 1, "a"), Section("rules", 2, "b")])
    with pytest.raises(ConfigError, match="section 'rules': declared twice by 'mine'"):
        AgentPlugins({"mine": twice}).sections(VIEW)


def test_none_and_a_generator_are_answers_too() -> None:
    class Lazy:
        @hookimpl
        def prompt_sections(self, agent: AgentView) -> Iterator[Section]:
            yield Section("one", 1, agent.name)
            yield Section("two", 2, "")

    plugins = AgentPlugins({"none": plugin(prompt_sections=None), "lazy": Lazy()})
    assert [section.name for section in plugins.sections(VIEW)] == ["one", "two"]


def test_a_generator_that_fails_half_way_is_a_failure_of_its_plugin() -> None:
    class Lazy:
        @hookimpl
        def prompt_sections(self) -> Iterator[Section]:
            yield Section("one", 1, "")
            raise OSError("disk\nfull")

    with pytest.raises(PluginError) as caught:
        AgentPlugins({"lazy": Lazy()}).sections(VIEW)
    assert str(caught.value) == "plugin 'lazy' failed in prompt_sections: OSError: disk full"
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("text", "expected a sequence of Section, got the str 'text'"),
        ({"a": 1}, "expected a sequence of Section, got a dict"),
        ({1}, "expected a sequence of Section, got a set"),
        (3, "expected a sequence of Section, got the int 3"),
        (Section("a", 1, "b"), "expected a sequence of Section, got an object of type Section"),
        (["text"], "expected a sequence of Section, but item 0: expected a Section, got the str 'text'"),
        ([Section], "item 0: expected a Section, got the class Section; return an instance"),
        ([Section("a", 1, None)], "item 0: Section.text: expected str, got None"),  # type: ignore[arg-type]  # wrong on purpose
        ([Section("a", "1", "t")], "item 0: Section.order: expected int, got the str '1'"),  # type: ignore[arg-type]  # wrong on purpose
        ([Section("a", True, "t")], "item 0: Section.order: expected int, got True"),
    ],
)
def test_a_wrong_answer_names_plugin_hook_expected_and_got(answer: Any, told: str) -> None:
    with pytest.raises(PluginError) as caught:
        AgentPlugins({"mine": plugin(prompt_sections=answer)}).sections(VIEW)
    assert "plugin 'mine' failed in prompt_sections: TypeError" in str(caught.value)
    assert told in str(caught.value)


def test_actions_keep_the_order_of_the_file_and_learn_their_owner() -> None:
    def named(name: str, owner: str = "") -> Action:
        return Action(name, "", {"type": "object"}, nothing, owner=owner)

    plugins = AgentPlugins(
        {
            "zeta": plugin(tool_actions=[named("B"), named("A", "crm.py")]),
            "alpha": plugin(tool_actions=[named("C")]),
        }
    )
    found = [(action.name, action.owner) for action in plugins.actions(VIEW)]
    assert found == [("B", "zeta"), ("A", "crm.py"), ("C", "alpha")]


def test_middleware_and_stages_are_sorted_by_data_then_plugin() -> None:
    first, second = Middleware(1, "retry"), Middleware(2, "trace")
    late, early = Stage(Phase.RECOVER, "a"), Stage(Phase.BOUND, "z")
    same = Stage(Phase.BOUND, "z")
    plugins = AgentPlugins(
        {
            "zeta": plugin(tool_middleware=[second], result_stages=[late, early]),
            "alpha": plugin(tool_middleware=[first], result_stages=[same]),
        }
    )
    assert plugins.middleware(VIEW) == (first, second)
    stages = plugins.stages(VIEW)
    assert stages[0] is same
    assert stages[1] is early
    assert stages[2] is late


def test_an_object_without_the_methods_of_its_protocol_is_refused() -> None:
    plugins = AgentPlugins({"mine": plugin(result_stages=[SimpleNamespace(name="x", phase=Phase.BOUND)])})
    with pytest.raises(PluginError, match="which lacks apply"):
        plugins.stages(VIEW)


def test_an_interrupt_is_never_swallowed() -> None:
    for hook, ask in (
        ("prompt_sections", AgentPlugins.sections),
        ("prompt_window", AgentPlugins.window),
        ("prompt_state", AgentPlugins.state),
    ):
        for interrupt in (KeyboardInterrupt(), asyncio.CancelledError()):
            with pytest.raises(type(interrupt)):
                ask(AgentPlugins({"mine": plugin(**{hook: interrupt})}), VIEW)  # type: ignore[arg-type]  # hooks by name
    plugins = AgentPlugins({"mine": plugin(policy_verdict=KeyboardInterrupt())})
    with pytest.raises(KeyboardInterrupt):
        plugins.verdicts(RUN, PROPOSAL, ACTION, ())


# ---- slot
def test_an_empty_slot_is_none_and_has_no_owner() -> None:
    plugins = AgentPlugins({"mine": plugin(prompt_window=None)})
    assert plugins.window(VIEW) is None
    assert plugins.slot_owner("prompt_window") is None


def test_a_filled_slot_knows_its_owner_and_passes_over_none() -> None:
    window = Window()
    plugins = AgentPlugins({"shy": plugin(prompt_window=None), "mine": plugin(prompt_window=window)})
    assert plugins.window(VIEW) is window
    assert plugins.slot_owner("prompt_window") == "mine"
    assert plugins.layout(VIEW) is None


@pytest.mark.parametrize("second", [Window(), "something else"])
def test_two_answers_to_a_slot_name_both_plugins(second: object) -> None:
    plugins = AgentPlugins({"a": plugin(prompt_window=second), "b": plugin(prompt_window=Window())})
    with pytest.raises(ConfigError, match="prompt_window: filled by 'a' and 'b'"):
        plugins.window(VIEW)


@pytest.mark.parametrize("hook", ["window", "layout", "offer", "envelope", "reviewer", "approvals"])
def test_every_slot_refuses_a_wrong_object(hook: str) -> None:
    stage = {"window": "prompt", "layout": "prompt", "offer": "tool", "envelope": "result"}
    name = f"{stage.get(hook, 'policy')}_{hook}"
    for wrong in ("text", object(), 0):
        with pytest.raises(PluginError, match=f"plugin 'mine' failed in {name}: TypeError: expected a"):
            getattr(AgentPlugins({"mine": plugin(**{name: wrong})}), hook)(VIEW)


# ---- platform
def test_providers_come_by_name_and_two_of_one_name_name_both_plugins() -> None:
    zeta, alpha = Provider("zeta"), Provider("alpha")
    plugins = PlatformPlugins({"one": plugin(model_providers=[zeta, alpha])})
    assert list(plugins.providers().items()) == [("alpha", alpha), ("zeta", zeta)]
    plugins = PlatformPlugins({"one": plugin(model_providers=[zeta]), "two": plugin(model_providers=[zeta])})
    with pytest.raises(ConfigError, match="provider 'zeta': declared by 'one' and 'two'"):
        plugins.providers()


def test_lineages_come_by_owner_and_the_same_one_counts_once() -> None:
    policy, memory = Lineage("policy", ("p:versions",)), Lineage("memory", ("m:versions",))
    plugins = PlatformPlugins(
        {"a": plugin(store_tables=[policy, memory]), "b": plugin(store_tables=[policy])}
    )
    assert plugins.lineages() == (memory, policy)
    other = Lineage("policy", ("elsewhere:versions",))
    plugins = PlatformPlugins({"a": plugin(store_tables=[policy]), "b": plugin(store_tables=[other])})
    with pytest.raises(ConfigError, match="lineage 'policy': declared by 'a' and 'b'"):
        plugins.lineages()
