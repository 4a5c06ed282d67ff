"""How the answers of plugins are merged, and what a failing plugin does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import define

from wakeful import hookimpl
from wakeful.plugins.hooks import AgentPlugins, PlatformPlugins
from wakeful.types import (
    Action,
    ActionContext,
    ActionResult,
    AgentView,
    Answer,
    Call,
    ConfigError,
    Declared,
    Epoch,
    Fragment,
    Invocation,
    Json,
    Judgement,
    Limits,
    Lineage,
    Phase,
    PluginError,
    Profile,
    Run,
    RunStatus,
    Section,
    Verdict,
    View,
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


async def _nothing(args: Mapping[str, Json], ctx: ActionContext) -> ActionResult:
    return ActionResult()


ACTION = Action("Send Email", "Send it.", {"type": "object"}, _nothing)
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
        ([Section("a", 1, None)], "item 0: Section.text: expected str, got None"),  # type: ignore[arg-type]
        ([Section("a", "1", "t")], "item 0: Section.order: expected int, got the str '1'"),  # type: ignore[arg-type]
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
        return Action(name, "", {"type": "object"}, _nothing, owner=owner)

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
                ask(AgentPlugins({"mine": plugin(**{hook: interrupt})}), VIEW)  # type: ignore[arg-type]
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


def test_two_answers_to_a_slot_name_both_plugins() -> None:
    plugins = AgentPlugins({"a": plugin(prompt_window=Window()), "b": plugin(prompt_window=Window())})
    with pytest.raises(ConfigError, match="prompt_window: filled by 'a' and 'b'"):
        plugins.window(VIEW)


@pytest.mark.parametrize("hook", ["window", "layout", "offer", "envelope", "reviewer", "approvals"])
def test_every_slot_refuses_a_wrong_object(hook: str) -> None:
    stage = {"window": "prompt", "layout": "prompt", "offer": "tool", "envelope": "result"}
    name = f"{stage.get(hook, 'policy')}_{hook}"
    for wrong in ("text", object(), 0):
        with pytest.raises(PluginError, match=f"plugin 'mine' failed in {name}: TypeError: expected a"):
            getattr(AgentPlugins({"mine": plugin(**{name: wrong})}), hook)(VIEW)


# ---- snapshot
def test_a_failing_snapshot_leaves_out_only_its_own_fragments() -> None:
    plugins = AgentPlugins(
        {
            "bad": plugin(prompt_state=KeyError("rules")),
            "wrong": plugin(prompt_state=[Fragment("x", 1, "x"), "text"]),
            "b": plugin(prompt_state=[Fragment("same", 1, "from b")]),
            "a": plugin(prompt_state=[Fragment("same", 1, "from a"), Fragment("first", 0, "1")]),
            "silent": plugin(prompt_state=None),
        }
    )
    fragments, failures = plugins.state(RUN)
    assert [fragment.text for fragment in fragments] == ["1", "from a", "from b"]
    assert [failure.plugin for failure in failures] == ["bad", "wrong"]
    assert str(failures[0]) == "plugin 'bad' failed in prompt_state: KeyError: 'rules'"


# ---- gather
async def test_context_is_asked_concurrently_and_placed_in_fixed_order() -> None:
    arrived = asyncio.Barrier(2)  # opens only if both are under way at once
    done: list[str] = []

    class Searching:
        def __init__(self, name: str, order: int) -> None:
            self.name, self.order = name, order

        @hookimpl
        async def prompt_context(self, run: Run) -> Sequence[Fragment]:
            await arrived.wait()
            done.append(self.name)
            return [Fragment(self.name, self.order, run.id)]

    fragments, failures = await AgentPlugins(
        {"late": Searching("late", 2), "early": Searching("early", 1)}
    ).context(RUN)
    assert [fragment.name for fragment in fragments] == ["early", "late"]
    assert sorted(done) == ["early", "late"]
    assert failures == ()


async def test_a_failing_context_leaves_the_others_in_place() -> None:
    plugins = AgentPlugins(
        {
            "down": plugin(prompt_context=OSError("no route")),
            "none": plugin(prompt_context=None),
            "up": plugin(prompt_context=[Fragment("found", 1, "text")]),
            "gone": plugin(prompt_context=asyncio.CancelledError()),
        }
    )
    fragments, failures = await plugins.context(RUN)
    assert fragments == (Fragment("found", 1, "text"),)
    assert [str(failure) for failure in failures] == [
        "plugin 'down' failed in prompt_context: OSError: no route",
        "plugin 'gone' failed in prompt_context: it was cancelled from within",
    ]


class Hanging:
    def __init__(self) -> None:
        self.started, self.ended = asyncio.Event(), False

    @hookimpl
    async def prompt_context(self) -> Sequence[Fragment]:
        try:
            self.started.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # tidying up takes a round of the loop
            self.ended = True
        return ()


async def test_a_context_that_takes_too_long_is_left_out() -> None:
    hanging = Hanging()
    plugins = AgentPlugins({"slow": hanging, "up": plugin(prompt_context=[Fragment("found", 1, "text")])})
    fragments, failures = await plugins.context(RUN, timeout_s=0.01)
    assert fragments == (Fragment("found", 1, "text"),)
    assert str(failures[0]) == "plugin 'slow' failed in prompt_context: no answer within 0.01 seconds"
    assert hanging.ended


async def test_a_plugins_own_timeout_is_reported_as_its_own() -> None:
    _, failures = await AgentPlugins({"mine": plugin(prompt_context=TimeoutError("search"))}).context(RUN)
    assert str(failures[0]) == "plugin 'mine' failed in prompt_context: TimeoutError: search"


async def test_cancelling_leaves_no_task_behind() -> None:
    hanging = [Hanging(), Hanging()]
    plugins = AgentPlugins({"one": hanging[0], "two": hanging[1]})
    task = asyncio.create_task(plugins.context(RUN))
    for each in hanging:
        await each.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert all(each.ended for each in hanging)
    assert asyncio.all_tasks() == {asyncio.current_task()}


# ---- judge
def test_every_verdict_is_kept_with_the_true_name_of_its_plugin() -> None:
    plugins = AgentPlugins(
        {
            "mild": plugin(policy_verdict=Judgement(Verdict.ALLOW, "fine", "somebody else")),
            "silent": plugin(policy_verdict=None),
            "strict": plugin(policy_verdict=Judgement(Verdict.REQUIRE_APPROVAL, "money", code="MONEY")),
        }
    )
    assert plugins.verdicts(RUN, PROPOSAL, ACTION, ()) == (
        Judgement(Verdict.ALLOW, "fine", "mild"),
        Judgement(Verdict.REQUIRE_APPROVAL, "money", "strict", "MONEY"),
    )


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (KeyError("rules"), "plugin 'mine' failed in policy_verdict: KeyError: 'rules'"),
        (Verdict.ALLOW, "expected a Judgement, got the Verdict"),
        (True, "expected a Judgement, got True"),
        (Judgement("allow"), "Judgement.verdict: expected Verdict, got the str 'allow'"),  # type: ignore[arg-type]
    ],
)
def test_a_judge_that_fails_denies(answer: Any, told: str) -> None:
    (judgement,) = AgentPlugins({"mine": plugin(policy_verdict=answer)}).verdicts(RUN, PROPOSAL, ACTION, ())
    assert judgement.verdict is Verdict.DENY
    assert judgement.plugin == "mine"
    assert told in judgement.reason


def test_a_judge_sees_the_earlier_proposals_of_the_step() -> None:
    class Counting:
        @hookimpl
        def policy_verdict(self, proposal: Invocation, earlier: Sequence[Invocation]) -> Judgement | None:
            return (
                Judgement(Verdict.DENY, "twice") if proposal.action in [e.action for e in earlier] else None
            )

    plugins = AgentPlugins({"mine": Counting()})
    assert plugins.verdicts(RUN, PROPOSAL, ACTION, ()) == ()
    assert plugins.verdicts(RUN, PROPOSAL, ACTION, (PROPOSAL,)) == (Judgement(Verdict.DENY, "twice", "mine"),)


# ---- event
async def test_events_are_awaited_in_order_and_a_failure_does_not_stop_the_next() -> None:
    heard: list[str] = []

    class Listening:
        def __init__(self, name: str, error: Exception | None = None) -> None:
            self.name, self.error = name, error

        @hookimpl
        async def turn_ended(self, answer: Answer) -> None:
            heard.append(f"{self.name}: {answer.text}")
            if self.error:
                raise self.error

    plugins = AgentPlugins({"z": Listening("z", OSError("disk full")), "a": Listening("a")})
    failures = await plugins.turn_ended(RUN, Answer("done", RunStatus.COMPLETED, "run-1", "c-1"))
    assert heard == ["z: done", "a: done"]
    assert [str(failure) for failure in failures] == ["plugin 'z' failed in turn_ended: OSError: disk full"]


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
