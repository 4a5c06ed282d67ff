"""From a blueprint to an agent that runs: plugins, actions, slots, model and prefix, decided once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from attrs import define, evolve, field, frozen

from wakeful.app.definition import Blueprint
from wakeful.app.kinds import Delegate, delegate_actions, hidden_actions, references_of, type_of
from wakeful.app.overrides import overridden
from wakeful.app.plugins import Ambient, Platform, collected, instance, placed, placed_at, settings_of
from wakeful.app.references import given_actions, meant_by
from wakeful.loop.agent import BuiltAgent
from wakeful.loop.prefix import configuration
from wakeful.loop.redact import Redactor
from wakeful.loop.services import Asker, PluginServices
from wakeful.models import EnvelopeModel, PatientModel
from wakeful.plugins.hooks import AgentPlugins
from wakeful.policy import PersonReviewer
from wakeful.prompt import PlainLayout, PlainWindow
from wakeful.results import PlainEnvelope
from wakeful.tools.offer import PlainOffer
from wakeful.types import (
    Action,
    AgentView,
    ConfigError,
    Declared,
    Json,
    Model,
    Offer,
    Offered,
    PluginError,
    Problem,
    Section,
    nearest,
)

if TYPE_CHECKING:
    from wakeful.store.engine import Store

#: Ways a model is told of tools.
TOOL_CALLING = ("auto", "native", "envelope")


@frozen(eq=False)
class _Made:
    """The plugins of one agent as they were made."""

    hooks: AgentPlugins
    instances: dict[str, object]
    services: dict[str, PluginServices]


@frozen(eq=False)
class _Parts:
    """What one agent is put together from."""

    made: _Made
    model: Model
    side: PatientModel | None
    given: Sequence[Action]


@define(eq=False)
class Builder:
    """Builds agents of one application.

    Args:
        ambient: what everything shares.
        platform: providers.
        store: for the services of plugins.
        asker: answers plugins' questions to a run's model.
        where: names the configuration in problems, e.g. ``wakeful.toml: ``.
        plans: all agents, to find those that are delegated to.
        delegate: runs a sub-agent.

    Attributes:
        used: names of the plugins that each agent uses, the schemes of its models included.
    """

    ambient: Ambient
    platform: Platform
    store: Store
    asker: Asker
    where: str
    plans: Mapping[str, Blueprint] = field(factory=dict)
    delegate: Delegate | None = None
    used: dict[str, set[str]] = field(factory=dict, init=False)

    def build(self, plan: Blueprint) -> BuiltAgent:
        """Build one agent.

        Raises:
            ConfigError: with every problem that could be found.
        """
        where = f"{self.where}agents.{plan.config.name}"
        self.used[plan.config.name] = set(plan.config.plugins)
        problems: list[Problem] = []
        with collected(problems):
            made = self._plugins(plan, where)
        with collected(problems):
            model = self._model(plan, where)
        with collected(problems):
            side = self._side(plan, where)
        with collected(problems):
            given = given_actions(plan.config, self.ambient.folder, where)
        if problems:
            raise ConfigError(list(dict.fromkeys(problems)))
        config = plan.config
        view = AgentView(
            config.name,
            config.model,
            model.profile,
            config.limits,
            config.context_tokens,
            approvers=config.approvers,
        )
        try:
            return self._assemble(plan, where, view, _Parts(made, model, side, given))
        except PluginError as error:
            raise ConfigError([Problem(where, str(error))]) from error
        except ConfigError as error:
            raise ConfigError(self._placed(error.problems, where)) from error

    def _plugins(self, plan: Blueprint, where: str) -> _Made:
        problems = _unsupported(plan, where)
        services = {name: self._services(name) for name in ("", *plan.config.plugins)}
        instances: dict[str, object] = {}
        for name in plan.config.plugins:
            problems += self._placed(self.platform.problems.get(name, ()), where)
            plugin = plan.plugins.get(name) or self.platform.get(name)
            if plugin is None:
                continue
            raw = plan.config.settings.get(name, {})
            try:
                at = f"{where}.plugins.{name}"
                shared = self.platform.objects.get(name)
                instances[name] = instance(plugin, name, raw, at, services[name], shared)
            except ConfigError as error:
                problems += placed(error.problems, plan.config, name, self.where)
        try:
            hooks = AgentPlugins(instances)
        except ConfigError as error:
            problems += self._placed(error.problems, where)
        if problems:
            raise ConfigError(problems)
        return _Made(hooks, instances, services)

    def _placed(self, problems: Iterable[Problem], place: str) -> list[Problem]:
        return placed_at(problems, place, self.where)

    def _services(self, name: str) -> PluginServices:
        services = self.ambient.services(name)
        services.store, services.asker = self.store, self.asker
        services.finder = partial(meant_by, self.ambient.folder)
        return services

    def _model(self, plan: Blueprint, where: str) -> Model:
        if plan.model is not None:
            speaking = self._speaking(plan, where, plan.model)
            if speaking is plan.model:
                return speaking  # as given: whoever made it decides about further tries
            return PatientModel(
                ((plan.config.model, speaking),), self.ambient.clock, plan.config.retry.total_s
            )

        return self._patient(plan, f"{where}.model", (plan.config.model, *plan.config.failover), where)

    def _side(self, plan: Blueprint, where: str) -> PatientModel | None:
        """Return the model of what plugins ask by themselves, if it is another one."""
        name = plan.config.side_model
        return self._patient(plan, f"{where}.side_model", (name,), where) if name else None

    def _patient(self, plan: Blueprint, at: str, names: Sequence[str], where: str) -> PatientModel:
        resolve = partial(self._resolved, plan, where)
        try:
            models = tuple((name, self._speaking(plan, where, resolve(name))) for name in names)
            return PatientModel(models, self.ambient.clock, plan.config.retry.total_s)
        except ConfigError as error:
            raise ConfigError(self._placed(error.problems, at)) from error

    def _resolved(
        self, plan: Blueprint, where: str, model: str, settings: Mapping[str, Json] | None = None
    ) -> Model:
        """Return the model of a name; ``settings`` instead of those of the agent are a provider's own."""
        scheme, _, rest = model.partition(":")
        self.used[plan.config.name].add(scheme)
        provider = self.platform.provider(scheme)
        plugin = self.platform.get(scheme)
        raw = plan.config.settings.get(scheme, {}) if settings is None else settings
        at = f"{where}.plugins.{scheme}" if settings is None else f"{where}.model: {scheme}"
        try:
            own = settings if plugin is None else settings_of(plugin, scheme, raw, at)
        except ConfigError as error:
            raise ConfigError(placed(error.problems, plan.config, scheme, self.where)) from error
        return provider.bind(rest, own, partial(self._resolved, plan, where))

    def _speaking(self, plan: Blueprint, where: str, model: Model) -> Model:
        """Return the model with calls as text where it has no tools of its own, or where the file says so."""
        kind = plan.config.tool_calling
        if kind == "native" and not model.profile.native_tools:
            what = "the model has no native tools; expected 'auto' or 'envelope'"
            raise ConfigError([Problem(f"{where}.tool_calling", what)])
        if kind == "envelope" or not model.profile.native_tools:
            return EnvelopeModel(model)
        return model

    def _assemble(self, plan: Blueprint, where: str, view: AgentView, parts: _Parts) -> BuiltAgent:
        plugins, services = parts.made.hooks, parts.made.services
        approvals = plugins.approvals(view)
        view = evolve(view, people=approvals is not None)
        reviewer = plugins.reviewer(view)
        view = evolve(view, reviewed=reviewer is not None)
        offer: Offer = plugins.offer(view) or PlainOffer()
        layout = plugins.layout(view) or PlainLayout()
        problems: list[Problem] = []
        with collected(problems):
            kind, type_owner = type_of(plan, plugins, where)
        with collected(problems):
            ordered = self._actions(plan, where, view, offer, parts)
        if problems:
            raise ConfigError(problems)
        offered = offer.open(ordered, view)
        shown = {name: ordered[name] for name in sorted(ordered)}
        actions = shown | hidden_actions(kind, type_owner, shown, where)
        wrong = kind.problems(view, shown)
        if wrong:
            raise ConfigError(self._placed(wrong, where))
        decisions = {"offer": offered.decision, "layout": layout.decide(view)}
        declared = Declared(view.model, offered.tools, _sections(plan, plugins, view, offered), decisions)
        for each in services.values():
            each.catalogue_ = shown
        for owner in {action.owner for action in actions.values()} - set(services):
            services[owner] = self._services(owner)
            services[owner].catalogue_ = shown
        return BuiltAgent(
            view=view,
            plugins=plugins,
            actions=actions,
            model=parts.model,
            side=parts.side,
            offer=offer,
            repair=plugins.repair(view),
            window=plugins.window(view) or PlainWindow(),
            layout=layout,
            envelope=plugins.envelope(view) or PlainEnvelope(),
            reviewer=reviewer or PersonReviewer(),
            approvals=approvals,
            middleware=plugins.middleware(view),
            stages=plugins.stages(view),
            reliefs=plugins.reliefs(view),
            declared=declared,
            services=services,
            type=kind,
            type_owner=type_owner,
            offered=shown,
            references=references_of(plugins, view, where),
            delegates=plan.config.sub_agents,
            instances=parts.made.instances,
            configuration=configuration(plan.config, Redactor.of(self.ambient.secrets).text),
        )

    def _actions(
        self, plan: Blueprint, where: str, view: AgentView, offer: Offer, parts: _Parts
    ) -> Mapping[str, Action]:
        plugins = parts.made.hooks
        own = [action if action.owner else evolve(action, owner="your code") for action in plan.actions]
        owner = plugins.slot_owner("tool_offer") or "the offer"
        extra = [action if action.owner else evolve(action, owner=owner) for action in offer.actions()]
        delegates = delegate_actions(plan, self.plans, self.delegate, where)
        declared = (*own, *parts.given, *plugins.actions(view), *extra, *delegates)
        actions: dict[str, Action] = {}
        problems: list[Problem] = []
        for action in overridden(declared, plan.config.action_overrides, where):
            other = actions.get(action.tool_name)
            if other is not None:
                both = f"{other.owner!r} and {action.owner!r}"
                what = (
                    f"tool {action.tool_name!r} is declared by {both}; drop one, or give it another tool_name"
                )
                problems.append(Problem(where, what))
            actions[action.tool_name] = action
            if action.max_executions is not None and (action.min_executions or 0) > action.max_executions:
                what = f"tool {action.tool_name!r} must run {action.min_executions} times and may run"
                problems.append(Problem(where, f"{what} {action.max_executions} times in a run"))
        if problems:
            raise ConfigError(problems)
        return actions


def _unsupported(plan: Blueprint, where: str) -> list[Problem]:
    problems = []
    value = plan.config.tool_calling
    if value not in TOOL_CALLING:
        what = f"unknown value {value!r}{nearest(value, TOOL_CALLING)}"
        problems.append(Problem(f"{where}.tool_calling", what))
    return problems


def _sections(
    plan: Blueprint, plugins: AgentPlugins, view: AgentView, offered: Offered
) -> tuple[Section, ...]:
    """Return instructions (order 0), the plugins' sections and the offer's, by (order, name)."""
    sections = [*plugins.sections(view), *offered.sections]
    if plan.config.instructions:
        sections.append(Section("instructions", 0, plan.config.instructions))
    return tuple(sorted(sections, key=lambda section: (section.order, section.name)))
