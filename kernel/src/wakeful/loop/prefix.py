"""The prefix of requests as it is recorded: what one was made of, where it changed, and whose that is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from attrs import asdict, evolve

from wakeful.config import AgentConfig
from wakeful.prompt import excerpts
from wakeful.types import Break, Declared, Json, Reply, Request, Run, Sent, digest, dump_item

if TYPE_CHECKING:
    from wakeful.loop.agent import BuiltAgent


def configuration(config: AgentConfig, hide: Callable[[str], str]) -> str:
    """Return the digest of what an agent is configured with.

    Args:
        config: the configuration.
        hide: takes secrets out of a text: a digest of a short one could be guessed back.
    """
    settings = {name: config.settings.get(name, {}) for name in config.plugins}
    given = [config.model, config.instructions, config.actions, config.plugins, settings]
    overrides = {name: asdict(value) for name, value in config.action_overrides.items()}
    spelled = json.dumps([*given, overrides], sort_keys=True, default=lambda value: type(value).__name__)
    return digest(hide(spelled))


def changed(old: Declared, new: Declared, reason: str, *, configured: bool) -> Break:
    """Return where a new prefix differs first from the one before it.

    Args:
        old: the one before.
        new: the one that begins.
        reason: why the epoch starts.
        configured: whether the configuration is another one as well. A section, or the order of the tools,
            that changes without that changes by itself, e.g. with the time, and will change again.
    """
    for section, before, after in _differences(old, new):
        own = section == "tools" or (section.startswith("section ") and section != "section instructions")
        cut = excerpts(before, after)
        return Break(
            section, reason, declared=configured or not own or not before, before=cut[0], after=cut[1]
        )
    return Break("decisions", reason, declared=True)


def _differences(old: Declared, new: Declared) -> Iterator[tuple[str, str, str]]:
    """Yield (what, before, after) of whatever differs, in the order of a request."""
    if old.model != new.model:
        yield "model", old.model, new.model
    before = {tool.name: tool.spelling for tool in old.tools}
    after = {tool.name: tool.spelling for tool in new.tools}
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            yield f"tool {name}", before.get(name, ""), after.get(name, "")
    if list(before) != list(after) and before == after:
        yield "tools", " ".join(before), " ".join(after)
    texts = {section.name: section.text for section in old.sections}
    now = {section.name: section.text for section in new.sections}
    for name in dict.fromkeys([*now, *texts]):
        if texts.get(name) != now.get(name):
            yield f"section {name}", texts.get(name, ""), now.get(name, "")


def owner(agent: BuiltAgent, section: str) -> str:
    """Return the plugin that a part of the prompt belongs to; empty if it is the kernel's or the user's."""
    what, _, name = section.partition(" ")
    plugins = agent.plugins
    if what == "tool":
        action = agent.actions.get(name)
        return action.owner if action else plugins.slot_owner("tool_offer") or ""
    if what == "tools":
        return plugins.slot_owner("tool_offer") or ""
    if what == "section":
        offered = plugins.slot_owner("tool_offer") or ""
        return plugins.section_owner(name) or ("" if name == "instructions" else offered)
    if what == "message":
        return plugins.slot_owner("prompt_window") or ""
    return ""


def described(request: Request, run: Run, characters: int) -> dict[str, Json]:
    """Return what is recorded of a request beside its fingerprint.

    Args:
        request: the request.
        run: whose it is.
        characters: length of its canonical form.
    """
    tools = sum(len(tool.spelling) for tool in request.tools)
    system = sum(len(text) for text in request.system)
    own = request.items[len(request.items) - request.state :] if request.state else ()
    state = sum(len(str(dump_item(item)[-1])) for item in own)
    profile, marks = run.agent.profile, request.marks
    return {
        "epoch": run.epoch.id,
        "family": profile.family,
        "minimum": profile.minimum,
        "ttl": profile.cache_ttl,
        "kept": request.keep is not None or not request.state,
        "characters": {
            "tools": tools,
            "system": system,
            "history": max(characters - tools - system - state, 0),
            "state": state,
        },
        "marks": {"tools": marks.tools, "system": marks.system, "items": len(marks.items)},
        "declared": len(request.tools),
    }


def settled(agent: BuiltAgent, request: Request, reply: Reply, before: Sent | None) -> Break | None:
    """Return the request's break with its owner and, now that there is a reply, with what it cost."""
    if request.change is None:
        return None
    lost = before.tokens - reply.usage.read if before and before.tokens and reply.usage.reported else 0
    plugin = request.change.plugin or owner(agent, request.change.section)
    return evolve(request.change, plugin=plugin, lost=max(lost, 0))
