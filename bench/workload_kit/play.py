"""Playing a configuration through wakeful's public API against a metering server, and its row."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attrs import field, frozen

from workload_kit.agent import Notes, actions
from workload_kit.expected import missing
from workload_kit.turns import SYSTEM, TURNS, scenario

#: Protocol to (model, settings of its provider); ``{url}`` is the server.
PROTOCOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "anthropic": ("anthropic:claude-sonnet-4-6", {"base_url": "{url}", "api_key": "k"}),
    "openai": ("openai:gpt-5.6", {"base_url": "{url}/v1", "api_key": "k", "api": "responses"}),
}


@frozen
class Setup:
    """One configuration.

    Args:
        plugins: enabled beside the notes, in this order.
        settings: theirs.
        handles: whether large results become artifacts, which the turns then query.
    """

    plugins: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    handles: bool = False

    @property
    def missing(self) -> list[str]:
        """Plugins that are not installed."""
        known = {entry.name for entry in metadata.entry_points(group="wakeful")}
        return [name for name in self.plugins if name not in known]


def _found(backend: str) -> dict[str, Any]:
    return {"multiplexer": {"mode": "always", "backend": backend}}


SETUPS: dict[str, Setup] = {
    "off": Setup(),
    "inline": Setup(("cache",)),
    "inline+lifecycle": Setup(("cache", "lifecycle")),
    "search+spillover": Setup(("cache", "multiplexer", "spillover"), _found("provider"), handles=True),
    "tools+spillover": Setup(("cache", "multiplexer", "spillover"), _found("tools"), handles=True),
    "search+spillover+compaction": Setup(
        ("cache", "multiplexer", "spillover", "compaction"), _found("provider"), handles=True
    ),
}


class Server:
    """A server that is controlled by its paths below ``/__wire__``."""

    def __init__(self, url: str) -> None:
        self.url = url

    def summary(self) -> Any:
        """Return what was booked."""
        return json.loads(self._ask("summary", None))

    def reset(self, played: Mapping[str, Any]) -> None:
        """Forget everything and play a scenario."""
        self._ask("reset", json.dumps({"scenario": played}).encode())

    def _ask(self, path: str, data: bytes | None) -> bytes:
        url, headers = f"{self.url}/__wire__/{path}", {"Content-Type": "application/json"}
        try:
            request = urllib.request.Request(url, data, headers)  # noqa: S310  (the address that was given)
            with urllib.request.urlopen(request) as answer:  # noqa: S310  (same)
                found: bytes = answer.read()
        except (OSError, ValueError) as error:
            raise SystemExit(f"{url}: {error}") from None
        return found


@asynccontextmanager
async def serving(url: str) -> AsyncIterator[Server]:
    """Yield the server at an address, or without one the test kit's own."""
    if url:
        yield Server(url.rstrip("/"))
        return
    from wakeful.testing.wire import App, Running, Scenario

    async with Running(App(Scenario({}))) as own:
        yield Server(own)


async def play(server: Server, name: str, protocol: str) -> dict[str, Any]:
    """Play a configuration and return its row."""
    import wakeful

    setup, (model, given) = SETUPS[name], PROTOCOLS[protocol]
    await asyncio.to_thread(server.reset, scenario(handles=setup.handles))
    own = {key: value.format(url=server.url) for key, value in given.items()}
    with TemporaryDirectory() as folder:
        agent = wakeful.Agent(
            model=model,
            instructions=SYSTEM,
            actions=actions(),
            plugins=[*setup.plugins, Notes(lists=not setup.handles)],
            settings={**setup.settings, model.partition(":")[0]: own},
            store=f"sqlite:///{Path(folder) / 'workload.db'}",
            folder=folder,
        )
        async with wakeful.open(agent) as app:
            if app.problems("agent"):
                raise SystemExit(f"{name}: " + "; ".join(map(str, app.problems("agent"))))
            declared, queried = await _turns(app)
    if setup.handles and missing(queried):
        raise SystemExit(f"{name}: queries did not find {', '.join(missing(queried))}")
    summary = await asyncio.to_thread(server.summary)
    return _row(name, protocol, summary, declared)


async def _turns(app: Any) -> tuple[int, list[str]]:
    """Hold the conversation; return how many breaks were declared, and what queries of handles answered."""
    from wakeful.types import ActionEnded, PrefixBreak, RunEnded

    declared, queried = 0, []
    for turn in TURNS:
        async for event in app.stream("agent", turn.text, conversation="conv-workload", user="ana"):
            if isinstance(event, PrefixBreak):
                declared += event.change.declared
            if isinstance(event, ActionEnded) and "artifact_" in json.dumps(
                [event.invocation.action, event.invocation.args]
            ):
                queried.append(event.text)
            if isinstance(event, RunEnded) and event.answer.status.value != "completed":
                raise SystemExit(f"{turn.text!r}: {event.answer.status.value}: {event.answer.error}")
    return declared, queried


def _row(name: str, protocol: str, summary: Mapping[str, Any], declared: int) -> dict[str, Any]:
    if summary["unreachable_tools"]:
        raise SystemExit(f"{name}: the model could not reach {', '.join(summary['unreachable_tools'])}")
    return {
        "config": name,
        "protocol": protocol,
        "requests": summary["requests"],
        "input": summary["input_tokens"],
        "read": summary["cached_read"],
        "written": summary["cache_write"],
        "uncached": summary["uncached"],
        "hit": summary["hit_ratio"],
        "breaks": max(summary["prefix_breaks"] - declared, 0),
        "declared": declared,
        "cost": summary["cost_units"],
    }
