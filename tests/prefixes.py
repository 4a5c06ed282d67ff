"""Plays random conversations with the cache plugin on, and checks each request against the one before it.

A plan is JSON: the protocol, how state is retained, which other plugins are on, and for each turn what the
model replies.
``python -m tests.prefixes`` reads one plan a line and prints the digest of all bodies that were made of it;
:mod:`tests.relay` plays a plan in two processes.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from attrs import define, evolve, field

import wakeful
from tests.toys import ACTIONS, TOYS
from tests.transcripts import SETTINGS, Ids, company
from wakeful import ActionResult, Agent, action
from wakeful.loop.codec import load_sent
from wakeful.loop.transcript import with_transcript
from wakeful.models import PatientModel
from wakeful.plugins.loader import installed
from wakeful.testing import FakeClock, say
from wakeful.testing.wire.canonical_anthropic import canon_anthropic
from wakeful.testing.wire.canonical_openai import canon_chat, canon_responses
from wakeful.types import Draft, Emit, Item, ModelError, Opaque, Reply, Request, Usage, canonical, digest
from wakeful_anthropic import Anthropic, AnthropicSettings
from wakeful_cache import Cache, CacheLayout
from wakeful_openai import OpenAI, OpenAISettings

#: Plugins that provide models, and those that are tested in other ways than by being on.
PROVIDERS = {"anthropic", "openai", "llamacpp", "replay", "cache"}
#: Toys that fill the cache plugin's slot, or cut the history without a word.
UNFIT = {"last", "recent"}


@action(effect="read", output_trust="trusted")
async def picture(size: int = 1) -> ActionResult:
    """Draw.

    Args:
        size: how large.
    """
    return ActionResult(outputs={"image": "iVBORw0KGgo" + "A" * 4 * size, "alt": "Größe 🙂"})


class Hurried(FakeClock):
    """Fake time for the pauses between two tries, which pass at once."""

    async def sleep(self, seconds: float) -> None:
        """Let the pause pass."""
        self.advance(seconds)
        await asyncio.sleep(0)


class Watched(CacheLayout):
    """The layout, each request composed a second time by one that remembers nothing."""

    problems: list[str]

    def compose(self, draft: Draft) -> Request:
        """Return the request of a draft."""
        request = super().compose(draft)
        again = CacheLayout(self.settings).compose(draft)
        same = evolve(again, change=None) == evolve(request, change=None)
        if not same or bool(again.change) != bool(request.change):
            self.problems.append("a process that remembers nothing sends something else")
        return request


class Seen(Cache):
    """The plugin with that layout."""

    name = "cache"

    def __init__(self, settings: Any, services: Any) -> None:
        """Take the layout's place."""
        super().__init__(settings, services)
        self._layout = Watched(settings)
        self._layout.problems = []


@cache
def body_maker(protocol: str) -> tuple[Any, Callable[[Request], bytes], Callable[[Any], Any]]:
    """Return a protocol's model, what makes bodies, and what makes the canonical prompt of one."""
    services: Any = SimpleNamespace(clock=FakeClock(), folder=Path(), report=lambda _: None)
    if protocol == "anthropic":
        own = AnthropicSettings(api_key="k", thinking_tokens=2048)
        model: Any = Anthropic(own, services).model_providers()[0].bind("claude-sonnet-4-5", own, None)  # type: ignore[arg-type]  # nothing is resolved
        return model, lambda request: model.encoder.body(request, max_tokens=9, stream=False), canon_anthropic
    kind: Any = "responses" if protocol == "responses" else "chat"
    settings = OpenAISettings(api_key="k", api=kind, base_url="http://127.0.0.1:1/v1")
    name = "gpt-5.6" if protocol == "responses" else "gpt-oss"
    model = OpenAI(settings, services).model_providers()[0].bind(name, settings, None)  # type: ignore[arg-type]  # nothing is resolved
    form = model._form  # noqa: SLF001  (a body without a server)
    canon = canon_chat if kind == "chat" else lambda body: canon_responses(body, body["input"])
    return model, lambda request: form.body(request, "c", stream=False), canon


PROTOCOLS = ("anthropic", "responses", "chat")


def thought(protocol: str, text: str, number: int) -> Item:
    """Return a block of reasoning as a provider gives it."""
    if protocol == "anthropic":
        return Opaque("anthropic", {"type": "thinking", "thinking": text, "signature": f"s{number}"})
    data = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": text}
    return Opaque("openai", data)


@define(eq=False)
class Player:
    """A model that plays the current plan, and looks at what the database holds while it thinks."""

    protocol: str
    profile: Any
    replies: list[Mapping[str, Any]] = field(factory=list)
    requests: list[Request] = field(factory=list)
    problems: list[str] = field(factory=list)
    app: Any = None
    asked: int = 0
    dies: Callable[[str], None] | None = None
    dies_at: int = 0

    def begin(self, asked: int = 0) -> None:
        """Forget what was asked, but for how often."""
        self.requests, self.problems, self.asked = [], [], asked
        self.app.agents["agent"].layout.problems = self.problems

    async def complete(self, request: Request, conversation: str, emit: Emit | None = None) -> Reply:
        """Play the next reply."""
        del emit
        self.requests.append(request)
        self.asked += 1
        run = await self._reread(conversation)
        if self.dies is not None and self.asked == self.dies_at:
            self.dies(run)
        if not self.replies:
            raise ModelError("unknown", "the script is over")
        line = self.replies.pop(0)
        if "error" in line:
            kind = line["error"]
            raise ModelError(kind, "scripted", retryable=kind == "overloaded")
        spoken = say(line.get("text", ""), calls=[tuple(call) for call in line.get("calls", ())])
        reply = spoken.reply(self.asked)
        if line.get("thinking"):
            block = thought(self.protocol, line["thinking"], self.asked)
            reply = reply.with_items((block, *reply.items))
        return evolve(reply, usage=Usage(uncached=100, output=5))

    async def _reread(self, conversation: str) -> str:
        """Compare what the run remembers with what another process would read; return its id."""
        lives = self.app._engine.runs.lives.values()  # noqa: SLF001  (the run as it is in the middle)
        live = next(each for each in lives if each.run.conversation == conversation)
        query = "select sent from epoch where conversation_id = ? and agent = 'agent' and id = ?"
        run = live.run

        def read(conn: Any) -> Any:
            sent = conn.exec_driver_sql(query, (conversation, run.epoch.id)).scalar()
            return with_transcript(conn, evolve(run, rows=(), kept=()), live.agent), load_sent(sent)

        stored, sent = await self.app.store.read(read)
        if (stored.rows, stored.kept, sent) != (run.rows, run.kept, run.previous):
            self.problems.append("a process that takes the run over reads something else")
        return str(run.id)


def usable() -> list[str]:
    """Return the plugins that a plan may enable: fit toys, and what is installed."""
    real = [name for name in installed() if name not in PROVIDERS]
    return [*sorted(set(TOYS) - UNFIT), *sorted(real)]


def furnish(folder: Path) -> None:
    """Put into a folder what the plugins need: a company's records and a skill."""
    company(folder)
    skill = folder / "skills" / "letters"
    skill.mkdir(parents=True)
    text = "---\nname: letters\ndescription: How letters are written.\n---\nBegin with the date.\n"
    (skill / "SKILL.md").write_text(text, encoding="utf-8")


@define(eq=False)
class Theatre:
    """Plays plans; applications stay open between them, one for each protocol and set of plugins."""

    folder: Path
    store: str = "sqlite://"
    stack: AsyncExitStack = field(factory=AsyncExitStack)
    apps: dict[tuple[str, ...], tuple[Any, Player] | None] = field(factory=dict)
    ids: Ids = field(factory=Ids)
    turn: int = 0
    settled: bool = False

    async def open(self, plan: Mapping[str, Any]) -> tuple[Any, Player] | None:
        """Return the application of a plan's plugins; None if two of them fill the same slot."""
        protocol, retention, names = plan["protocol"], plan["retention"], plan["plugins"]
        key = (protocol, retention, *names)
        if key not in self.apps:
            model, _, _ = body_maker(protocol)
            player = Player(protocol, model.profile)
            agent = Agent(
                model=PatientModel((("played", player),), Hurried(), 120.0),
                actions=[*ACTIONS, picture],
                plugins=[Seen, *(TOYS.get(name, name) for name in names)],
                settings={"cache": {"retention": retention}}
                | {name: SETTINGS[name] for name in names if name in SETTINGS},
                folder=self.folder,
                store=self.store,
                instructions="Help. Ä 🙂",
            )
            app = await self.stack.enter_async_context(wakeful.open(agent, clock=FakeClock(), ids=self.ids))
            problems = [str(problem) for problem in app.problems("agent")]
            player.app = app
            self.apps[key] = None if problems else (app, player)
            if any("filled by" not in problem for problem in problems):
                raise AssertionError(problems)
        return self.apps[key]

    async def play(self, plan: Mapping[str, Any]) -> tuple[str, list[str], int]:
        """Play a plan; return the digest of its bodies, what is wrong, and how many requests there were."""
        opened = await self.open(plan)
        if opened is None:
            return "", [], 0
        app, player = opened
        self.ids.begin(plan["number"])
        player.begin()
        await self.turns(plan, app, player)
        bodies, problems = compared(plan["protocol"], player.requests)
        return digest(canonical(bodies)), [*player.problems, *problems], len(player.requests)

    async def turns(self, plan: Mapping[str, Any], app: Any, player: Player, first: int = 0) -> None:
        """Play the turns of a plan from the first one on."""
        for self.turn in range(first, len(plan["turns"])):
            turn = plan["turns"][self.turn]
            player.replies, self.settled = list(turn["replies"]), False
            conversation = f"conv-{plan['number']}"
            answer = await app.send("agent", turn["text"], conversation=conversation, user="ana")
            await self.settle(app, player, answer)

    async def settle(self, app: Any, player: Player, answer: Any) -> None:
        """Let a person agree to what waits for that, once a turn."""
        if answer.status.parked and not self.settled:
            self.settled = True
            for request in answer.pending:
                await app.approvals.approve(request, by="ana")
            player.replies = [{"text": "Settled."}]
            await app.resume(answer.run_id)


def compared(protocol: str, requests: Sequence[Request]) -> tuple[list[str], list[str]]:
    """Return the bodies of requests, and where one does not repeat the one before it up to the state."""
    _, make, canon = body_maker(protocol)
    bodies = [make(request) for request in requests]
    whole = [texts(canon(json.loads(body))) for body in bodies]
    own = [evolve(each, items=each.items[: len(each.items) - each.state], state=0) for each in requests]
    stable = [texts(canon(json.loads(make(each)))) for each in own]
    problems = []
    for number in range(1, len(requests)):
        change = requests[number].change
        if change is not None and not change.declared:
            problems.append(f"request {number}: {change}")
        if change is None and not begins(whole[number], stable[number - 1]):
            problems.append(f"request {number} does not repeat the one before it")
    return [body.decode() for body in bodies], problems


def texts(canon: Any) -> list[str]:
    """Return the blocks of a canonical prompt."""
    return [f"{block.section} {block.label} {block.text}" for block in canon.blocks]


def begins(now: Sequence[str], before: Sequence[str]) -> bool:
    """Whether blocks begin with others; a server that joins the user's texts makes the last one longer."""
    if not before:
        return True
    place = len(before) - 1
    same = list(now[:place]) == list(before[:place])
    return same and len(now) > place and now[place].startswith(before[place])


async def main(lines: Sequence[str]) -> None:
    """Play one plan a line and print their digests."""
    with TemporaryDirectory() as folder:
        furnish(Path(folder))
        theatre = Theatre(Path(folder))
        async with theatre.stack:
            for line in lines:
                print((await theatre.play(json.loads(line)))[0] or "-")


if __name__ == "__main__":
    asyncio.run(main(sys.stdin.read().splitlines()))
