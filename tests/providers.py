"""The real providers before the wire server, each set up in a file as a user would."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from tests.cli import Console
from wakeful.testing import FakeClock
from wakeful.types import Answer, Event, RunEnded

#: What the tests plant wherever a key can stand; no part of it is a word.
KEY = "sk-zq81-planted-key-4711-xw"

#: Actions with effects that are counted in a file: one line for each execution.
TOOLS = '''
from pathlib import Path

from wakeful import ActionContext, action


@action(effect="read", output_trust="trusted")
def look(key: str) -> str:
    """Look something up."""
    return f"value of {key}"


@action(effect="external", output_trust="trusted")
def pay(ctx: ActionContext, euros: int) -> str:
    """Pay."""
    with (ctx.services.folder / "paid").open("a") as file:
        file.write(f"{euros}\\n")
    return f"paid {euros}"
'''


@frozen
class Way:
    """One way to talk to a model.

    Args:
        scheme: the plugin.
        model: a model it knows.
        api: the protocol, where there are several.
        settings: more lines for the plugin's table, to make the model think.
    """

    scheme: str
    model: str
    api: str = ""
    settings: str = ""

    @property
    def name(self) -> str:
        """The name in a test's id."""
        return self.api or self.scheme

    @property
    def spelled(self) -> str:
        """The value of ``model`` in the file."""
        return f"{self.scheme}:{self.model}"

    @property
    def variables(self) -> dict[str, str]:
        """The variables of the environment by which its SDK finds its key and its server."""
        upper = self.scheme.upper()
        return {"key": f"{upper}_API_KEY", "url": f"{upper}_BASE_URL"}

    def url(self, wire: Any) -> str:
        """The wire server's address."""
        return str(wire.openai_url if self.scheme == "openai" else wire.anthropic_url)

    def table(self, url: str, *, stream: bool = True, key: str = "") -> str:
        """Return its table in ``wakeful.toml``.

        Args:
            url: of the server; empty leaves it out.
            stream: whether replies stream.
            key: value of ``api_key``; empty leaves it out.
        """
        lines = [f"[plugins.{self.scheme}]", f"stream = {str(stream).lower()}"]
        lines += [f'base_url = "{url}"'] if url else []
        lines += [f'api_key = "{key}"'] if key else []
        lines += [f'api = "{self.api}"'] if self.api else []
        return "\n".join([*lines, self.settings, ""])


ANTHROPIC = Way("anthropic", "claude-haiku-4-5", settings="thinking_tokens = 2048")
RESPONSES = Way("openai", "gpt-5.2", "responses")
CHAT = Way("openai", "gpt-5.2", "chat")
WAYS = (ANTHROPIC, RESPONSES, CHAT)

each_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
both_providers = pytest.mark.parametrize("way", [ANTHROPIC, RESPONSES], ids=lambda way: way.scheme)
streaming_or_not = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])


def write(
    folder: Path, *tables: str, model: str, failover: Sequence[str] = (), actions: bool = True, more: str = ""
) -> Path:
    """Write ``wakeful.toml`` and the actions it names; return the file."""
    stand_ins = ", ".join(f'"{name}"' for name in failover)
    lines = ["[agents.desk]", f'model = "{model}"', 'instructions = "Be brief."', f"failover = [{stand_ins}]"]
    lines += ['actions = ["office:*"]'] if actions else []
    (folder / "office.py").write_text(TOOLS, encoding="utf-8")
    file = folder / "wakeful.toml"
    file.write_text("\n".join([*lines, more, "", *tables]), encoding="utf-8")
    return file


def console(folder: Path, **variables: str) -> Console:
    """Return a console in that folder whose environment has no key but those given."""
    found = Console(folder)
    hidden = {name: "" for way in WAYS for name in way.variables.values()}
    found.env.update(hidden | {"COLUMNS": "400"} | variables)
    return found


def paid(folder: Path) -> list[int]:
    """Return what was paid, each time that it was."""
    file = folder / "paid"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


class HurriedClock(FakeClock):
    """Fake time for the pauses between two tries: they pass at once and are noted."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    async def sleep(self, seconds: float) -> None:
        """Let the pause pass."""
        self.pauses.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)


def hurried(app: Any, clock: FakeClock) -> None:
    """Measure the pauses between two tries by ``clock``; everything else keeps the application's own."""
    app.agents["desk"].model.clock = clock


@frozen
class Turn:
    """What one turn gave."""

    events: tuple[Event, ...]

    @property
    def answer(self) -> Answer:
        """Its answer; there is exactly one end."""
        (ended,) = self.of(RunEnded)
        answer: Answer = ended.answer
        return answer

    def of(self, *kinds: type) -> list[Any]:
        """Return the events of these kinds."""
        return [event for event in self.events if isinstance(event, kinds)]


async def turn(app: Any, text: str) -> Turn:
    """Run a turn of the one conversation."""
    return Turn(tuple([event async for event in app.stream("desk", text, conversation="c-1")]))


def metered(rows: Iterable[Mapping[str, Any]]) -> int:
    """Return the input tokens that the wire server charged."""
    return sum(row["input_tokens"] for row in rows)


def books(folder: Path) -> dict[str, int]:
    """Return the tokens that each table of the database counts."""
    count = "coalesce(sum(tokens_read + tokens_write + tokens_uncached + tokens_output), 0)"
    with closing(sqlite3.connect(folder / "wakeful.db")) as database:
        tables = ("run", "step", "model_call")
        return {table: database.execute(f"select {count} from {table}").fetchone()[0] for table in tables}
