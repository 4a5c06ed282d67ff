"""An agent as it was built: everything the loop needs, decided once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import field, frozen

from wakeful.plugins.hooks import AgentPlugins
from wakeful.types import (
    Action,
    AgentType,
    AgentView,
    Approvals,
    Declared,
    Envelope,
    Layout,
    Middleware,
    Model,
    NameRepair,
    Offer,
    Reference,
    Relief,
    Reviewer,
    Stage,
    Window,
    digest,
)

if TYPE_CHECKING:
    from wakeful.loop.services import PluginServices
    from wakeful.models.retry import PatientModel


@frozen(eq=False)
class BuiltAgent:
    """One agent, ready to run. The slots hold a plugin's object or the kernel's plain default.

    ``side`` is another model for what plugins ask by themselves. ``offered`` are the actions that a model may
    call; ``actions`` also those of the agent's type; ``removed`` are those that the caller of a run took
    away; ``delegates`` names the sub-agents.
    """

    view: AgentView
    plugins: AgentPlugins
    actions: Mapping[str, Action]
    model: Model
    side: PatientModel | None
    offer: Offer
    repair: NameRepair | None
    window: Window
    layout: Layout
    envelope: Envelope
    reviewer: Reviewer
    approvals: Approvals | None
    middleware: tuple[Middleware, ...]
    stages: tuple[Stage, ...]
    reliefs: tuple[tuple[str, Relief], ...]
    declared: Declared
    services: Mapping[str, PluginServices]
    type: AgentType
    type_owner: str
    offered: Mapping[str, Action]
    references: Mapping[str, Reference]
    instances: Mapping[str, object]
    delegates: tuple[str, ...] = ()
    removed: frozenset[str] = frozenset()
    configuration: str = ""
    declared_digest: str = field(init=False)

    @declared_digest.default
    def _digest(self) -> str:
        return digest(self.declared.dump())

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.view.name

    @property
    def rewriters(self) -> frozenset[str]:
        """Names of the plugins that rewrite what is sent; only their rewrites count."""
        return frozenset(plugin for plugin, _ in self.reliefs)

    def slot(self, hook: str) -> str:
        """Return who fills a slot: a plugin's name, or ``kernel``."""
        return self.plugins.slot_owner(hook) or "kernel"


def changes(old: Declared, new: Declared) -> str:
    """Return why an epoch starts, e.g. ``tools: +send_email -old; section: instructions``."""
    reasons = []
    if old.model != new.model:
        reasons.append(f"model: {old.model} -> {new.model}")
    before = {tool.name: tool.spelling for tool in old.tools}
    after = {tool.name: tool.spelling for tool in new.tools}
    tools = [f"+{name}" for name in after if name not in before]
    tools += [f"-{name}" for name in before if name not in after]
    tools += [f"~{name}" for name in after if name in before and after[name] != before[name]]
    if tools:
        reasons.append("tools: " + " ".join(sorted(tools)))
    if list(before) != list(after) and before == after:
        reasons.append("tools: in another order")
    texts = {section.name: section for section in old.sections}
    now = {section.name: section for section in new.sections}
    changed = sorted(name for name in {*texts, *now} if texts.get(name) != now.get(name))
    if changed:
        reasons.append("sections: " + ", ".join(changed))
    if old.decisions != new.decisions:
        slots = sorted({*old.decisions, *new.decisions})
        reasons.append(
            "decided anew: " + ", ".join(s for s in slots if old.decisions.get(s) != new.decisions.get(s))
        )
    return "; ".join(reasons) or "declarations changed"
