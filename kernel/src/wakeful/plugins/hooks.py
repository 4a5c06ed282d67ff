"""The typed facade over one set of plugins. Nothing else touches a plugin manager.

Answers are put in an order that is defined by data (order, name, then plugin name) or by the order of
the configuration file, never by installation or by what finishes first.
"""

# mypy: disable-error-code="type-abstract"
# Protocols are handed to the checks of answers as values, which is all that is done with them.

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TypeVar

from attrs import evolve

from wakeful.hookspecs import AgentHooks, PlatformHooks
from wakeful.plugins import answers
from wakeful.plugins.fragments import retrieve, snapshot, split
from wakeful.plugins.registry import Registry, check_unique, failed, sort
from wakeful.types import (
    Action,
    AgentType,
    AgentView,
    Answer,
    Approvals,
    BackgroundService,
    Envelope,
    Fragment,
    Invocation,
    Judgement,
    Layout,
    Lineage,
    Middleware,
    NameRepair,
    Offer,
    PluginError,
    Provider,
    Reference,
    Relief,
    Reviewer,
    Run,
    Section,
    Stage,
    Verdict,
    Window,
)

_T = TypeVar("_T")

#: How long one plugin may take to retrieve context at the start of a turn, in seconds. Long enough for a
#: slow search, short enough that a person still waits for the answer.
CONTEXT_TIMEOUT_S = 30.0


class AgentPlugins(Registry):
    """The plugins of one agent.

    Args:
        plugins: name to instance, in the order of the file.

    Raises:
        ConfigError: hooks that are misspelt, have wrong arguments or hints, are async where they must not
            be (or the reverse), or use pluggy's ordering tricks; every problem of every plugin at once.
    """

    def __init__(self, plugins: Mapping[str, object]) -> None:
        """Check and register the plugins."""
        super().__init__(AgentHooks, plugins)
        self._owners: dict[str, str] = {}
        self._sections: dict[str, str] = {}

    # ---- prompt
    def sections(self, agent: AgentView) -> tuple[Section, ...]:
        """Return the static sections, by (order, name).

        Raises:
            PluginError: a plugin failed.
            ConfigError: two sections have one name.
        """
        found = list(self.merged("prompt_sections", {"agent": agent}, Section))
        check_unique(found, "section", lambda section: section.name)
        self._sections = {section.name: plugin for plugin, section in found}
        return sort(found, lambda section: (section.order, section.name))

    def state(self, run: Run) -> tuple[tuple[Fragment, ...], tuple[PluginError, ...]]:
        """Return the runtime-state fragments, by (order, name, plugin), and what failed."""
        outcomes = [snapshot(impl, run) for impl in self.impls("prompt_state")]
        return split(outcomes)

    async def context(
        self, run: Run, *, timeout_s: float = CONTEXT_TIMEOUT_S
    ) -> tuple[tuple[Fragment, ...], tuple[PluginError, ...]]:
        """Return the fragments retrieved for a turn, by (order, name, plugin), and what failed.

        All plugins are asked at once. Cancelling the caller cancels all of them and waits for their end.

        Args:
            run: the run at the start of its turn.
            timeout_s: seconds one plugin may take; then its block is left out.
        """
        async with asyncio.TaskGroup() as group:
            tasks = [
                (impl, group.create_task(retrieve(impl, run, timeout_s)))
                for impl in self.impls("prompt_context")
            ]
        return split(
            [
                # The caller was not cancelled, or the group would have raised: the plugin cancelled itself.
                failed(impl, "it was cancelled from within") if task.cancelled() else task.result()
                for impl, task in tasks
            ]
        )

    def reliefs(self, agent: AgentView) -> tuple[tuple[str, Relief], ...]:
        """Return (plugin, strategy) by (share, order, name, plugin).

        Raises:
            PluginError: a plugin failed.
        """
        found = self.merged("prompt_relief", {"agent": agent}, Relief)
        return tuple(sorted(found, key=lambda pair: (pair[1].share, pair[1].order, pair[1].name, pair[0])))

    # ---- slots
    def window(self, agent: AgentView) -> Window | None:
        """Return what chooses the rows, or None for the kernel's default."""
        return self._slot("prompt_window", agent, Window)

    def layout(self, agent: AgentView) -> Layout | None:
        """Return what composes requests, or None for the kernel's default."""
        return self._slot("prompt_layout", agent, Layout)

    def offer(self, agent: AgentView) -> Offer | None:
        """Return what decides the tools shown, or None for the kernel's default."""
        return self._slot("tool_offer", agent, Offer)

    def repair(self, agent: AgentView) -> NameRepair | None:
        """Return what finds the tool that a wrong name means, or None: no name is repaired."""
        return self._slot("tool_repair", agent, NameRepair)

    def envelope(self, agent: AgentView) -> Envelope | None:
        """Return what marks outside text, or None for the kernel's default."""
        return self._slot("result_envelope", agent, Envelope)

    def reviewer(self, agent: AgentView) -> Reviewer | None:
        """Return what resolves AUTO_REVIEW, or None for the kernel's default."""
        return self._slot("policy_reviewer", agent, Reviewer)

    def approvals(self, agent: AgentView) -> Approvals | None:
        """Return what stores approvals, or None for the kernel's default."""
        return self._slot("policy_approvals", agent, Approvals)

    def slot_owner(self, hook: str) -> str | None:
        """Return the plugin that filled a slot, once it has been asked; None for the default."""
        return self._owners.get(hook)

    def section_owner(self, name: str) -> str:
        """Return the plugin that gave a section, once they have been asked; empty if none did."""
        return self._sections.get(name, "")

    def _slot(self, hook: str, agent: AgentView, wanted: type[_T]) -> _T | None:
        """Return the one answer of a slot.

        Raises:
            PluginError: a plugin failed, or returned something else.
            ConfigError: two plugins answered; names both.
        """
        found = self.single(hook, {"agent": agent}, wanted)
        if found is None:
            return None
        self._owners[hook], value = found
        return value

    # ---- tools and results
    def actions(self, agent: AgentView) -> tuple[Action, ...]:
        """Return the actions, in the order of the plugins; ``owner`` is filled in."""
        found = self.merged("tool_actions", {"agent": agent}, Action)
        return tuple(action if action.owner else evolve(action, owner=plugin) for plugin, action in found)

    def references(self, agent: AgentView) -> dict[str, Reference]:
        """Return where arguments may be taken from, by name.

        Raises:
            PluginError: a plugin failed.
            ConfigError: two references have one name; names both plugins.
        """
        found = list(self.merged("tool_references", {"agent": agent}, Reference))
        check_unique(found, "reference", lambda reference: reference.name)
        return {reference.name: reference for _, reference in found}

    def middleware(self, agent: AgentView) -> tuple[Middleware, ...]:
        """Return the middleware, outermost first, by (order, name, plugin)."""
        found = self.merged("tool_middleware", {"agent": agent}, Middleware)
        return sort(found, lambda each: (each.order, each.name))

    def stages(self, agent: AgentView) -> tuple[Stage, ...]:
        """Return the result stages, by (phase, name, plugin)."""
        found = self.merged("result_stages", {"agent": agent}, Stage)
        return sort(found, lambda stage: (stage.phase, stage.name))

    # ---- policy
    def verdicts(
        self, run: Run, proposal: Invocation, action: Action, earlier: Sequence[Invocation]
    ) -> tuple[Judgement, ...]:
        """Return every opinion on a proposal, in the order of the plugins, each with its plugin's name.

        A plugin that raises, or answers with anything but a judgement, denies.
        """
        arguments = {"run": run, "proposal": proposal, "action": action, "earlier": earlier}
        return self._judged("policy_verdict", arguments)

    def verdicts_below(
        self, run: Run, child: Run, proposal: Invocation, action: Action
    ) -> tuple[Judgement, ...]:
        """Return every opinion on a proposal of a sub-agent of ``run``; as :meth:`verdicts`."""
        arguments = {"run": run, "child": child, "proposal": proposal, "action": action}
        return self._judged("policy_below", arguments)

    def _judged(self, hook: str, arguments: Mapping[str, object]) -> tuple[Judgement, ...]:
        found: list[Judgement] = []
        for impl in self.impls(hook):
            try:
                answer = impl.call(arguments)
                if answer is not None:
                    found.append(evolve(answers.one(answer, Judgement), plugin=impl.plugin))
            except Exception as error:  # noqa: BLE001  (a judge that cannot judge must never let a call pass)
                found.append(Judgement(Verdict.DENY, str(failed(impl, error)), impl.plugin))
        return tuple(found)

    # ---- run
    def types(self) -> dict[str, tuple[AgentType, str]]:
        """Return the agent types of the plugins by name, each with its plugin.

        Raises:
            PluginError: a plugin failed.
            ConfigError: two types have one name; names both plugins.
        """
        found = list(self.merged("agent_types", {}, AgentType))
        check_unique(found, "agent type", lambda each: each.name)
        return {each.name: (each, plugin) for plugin, each in found}

    def warnings(self, agent: AgentView, actions: Mapping[str, Action]) -> tuple[tuple[str, str], ...]:
        """Return (plugin, sentence) for what plugins want the owner to know, in the order of the plugins.

        Raises:
            PluginError: a plugin failed.
        """
        return tuple(self.merged("agent_warnings", {"agent": agent, "actions": actions}, str))

    async def turn_ended(self, run: Run, answer: Answer) -> tuple[PluginError, ...]:
        """Tell the plugins, one after the other in the order of the file, and return what failed."""
        failures: list[PluginError] = []
        for impl in self.impls("turn_ended"):
            try:
                await impl.call({"run": run, "answer": answer})
            except Exception as error:  # noqa: BLE001  (an observer never breaks the run)
                failures.append(failed(impl, error))
        return tuple(failures)


class PlatformPlugins(Registry):
    """All plugins that any agent enables, for what is needed before an agent exists.

    Args:
        plugins: name to instance, in the order of the file.

    Raises:
        ConfigError: as for :class:`AgentPlugins`.
    """

    def __init__(self, plugins: Mapping[str, object]) -> None:
        """Check and register the plugins."""
        super().__init__(PlatformHooks, plugins)

    def providers(self) -> dict[str, Provider]:
        """Return the providers by name, sorted.

        Raises:
            PluginError: a plugin failed.
            ConfigError: two providers have one name; names both plugins.
        """
        found = list(self.merged("model_providers", {}, Provider))
        check_unique(found, "provider", lambda provider: provider.name)
        return {provider.name: provider for provider in sort(found, lambda each: (each.name,))}

    def services(self) -> tuple[tuple[tuple[str, BackgroundService], ...], tuple[PluginError, ...]]:
        """Return (plugin, service) in the order of the plugins, and what failed."""
        found: list[tuple[str, BackgroundService]] = []
        failures: list[PluginError] = []
        for impl in self.impls("background_services"):
            try:
                given = answers.many(impl.call({}), BackgroundService)
                found += [(impl.plugin, service) for service in given]
            except Exception as error:  # noqa: BLE001  (agents that do not use the plugin run)
                failures.append(failed(impl, error))
        return tuple(found), tuple(failures)

    def lineages(self) -> tuple[Lineage, ...]:
        """Return the lineages of migrations, by owner.

        Plugins of one distribution may give the same lineage; it is kept once.

        Raises:
            PluginError: a plugin failed.
            ConfigError: two different lineages have one owner; names both plugins.
        """
        found: list[tuple[str, Lineage]] = []
        for plugin, lineage in self.merged("store_tables", {}, Lineage):
            if all(lineage != earlier for _, earlier in found):
                found.append((plugin, lineage))
        check_unique(found, "lineage", lambda lineage: lineage.owner)
        return sort(found, lambda lineage: (lineage.owner,))
