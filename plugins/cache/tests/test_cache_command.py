"""``wakeful cache``: what was read and lost, and whose fault it was, over both wire formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from attrs import evolve, frozen

from plugins.cache.tests.toys_cache import (
    Board,
    Clocky,
    Early,
    Length,
    Manifest,
    Planner,
    Shuffled,
    Skills,
    Sliding,
    Volatile,
    look,
)
from tests.cli import Console
from wakeful import Agent
from wakeful.testing import Database
from wakeful.testing.wire import Wire
from wakeful.types import Action
from wakeful_cache.command import cache
from wakeful_cache.picture import COLOURS

LOOK: dict[str, Any] = {"calls": [{"tool": "look", "args": {"key": "k" * 40, "at": "here"}}]}
STEPS: list[dict[str, Any]] = [LOOK, LOOK, LOOK, {"text": "Done."}]
#: Long enough for every cache.
HELP = "Help whoever asks. " * 500


@frozen
class Told:
    """What the command said."""

    json: Any
    out: str


class Office:
    """Turns over a wire format, each in an application of its own, and what ``wakeful cache`` says."""

    def __init__(
        self, wire: Wire, store: Database, folder: Path, run_turn: Callable[..., Any], capsys: Any
    ) -> None:
        self.wire, self.folder, self.run_turn, self.capsys = wire, folder, run_turn, capsys
        (folder / "wakeful.toml").write_text(
            f'[store]\nurl = "{store.url}"\n[agents.agent]\nmodel = "anthropic:claude-sonnet-4-6"\n',
            encoding="utf-8",
        )
        self.console = Console(folder)

    def turn(
        self,
        *plugins: Any,
        model: str = "anthropic:claude-sonnet-4-6",
        on: tuple[str, ...] = ("cache",),
        actions: Sequence[Action] = (look,),
    ) -> Any:
        scheme = model.partition(":")[0]
        url = self.wire.openai_url if scheme == "openai" else self.wire.anthropic_url
        own = {"api_key": "k", "base_url": url, **({"api": "responses"} if scheme == "openai" else {})}
        agent = Agent(
            model=model,
            plugins=[*on, *plugins],
            actions=actions,
            instructions=HELP,
            settings={scheme: own},
        )
        return self.run_turn(agent, "Hello", conversation="c-1")

    def told(self, *, picture: Path | None = None) -> Any:
        """Return what the command prints: the document, and the text for people."""
        file = self.folder / "wakeful.toml"
        assert cache("c-1", picture, file, json=True) == 0
        document = json.loads(self.capsys.readouterr().out)
        assert cache("c-1", None, file, json=False) == 0
        return Told(document, self.capsys.readouterr().out)


@pytest.fixture
def office(
    wire: Wire,
    store: Database,
    tmp_path: Path,
    run_turn: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
) -> Office:
    wire.play([*STEPS, *STEPS])
    return Office(wire, store, tmp_path, run_turn, capsys)


def parts(office: Office, tag: str) -> list[Any]:
    """Return the elements of the picture that was drawn."""
    picture = ET.parse(office.folder / "requests.svg")  # noqa: S314  (our own)
    return [each for each in picture.iter() if each.tag.endswith("}" + tag)]


def bars(office: Office) -> list[Any]:
    return parts(office, "g")


def fills(bar: Any) -> list[str]:
    return [each.get("fill", "") for each in bar]


@pytest.mark.parametrize("model", ["anthropic:claude-sonnet-4-6", "openai:gpt-5.6", "openai:gpt-5.2"])
def test_everything_that_was_sent_is_read_again(office: Office, model: str) -> None:
    office.turn(Volatile(), model=model)
    result = office.turn(Volatile(), model=model)
    told = office.told().json
    summary = office.wire.summary()
    totals = told["totals"]
    assert (totals["requests"], totals["wasted"], totals["undeclared_breaks"]) == (8, 0, 0)
    assert totals["hit"] > 0.8
    assert (totals["input"], totals["read"]) == (summary["input_tokens"], summary["cached_read"])
    assert (totals["written"], totals["uncached"]) == (summary["cache_write"], summary["uncached"])
    assert summary["prefix_breaks"] == summary["tail_replacements"] == 0, office.wire.explain()
    last = told["requests"][-1]
    assert sum(last["tokens"].values()) == last["usage"]["input"]
    assert last["tokens"]["system"] > 1000
    assert result.answer.usage.read == sum(row["usage"]["read"] for row in told["requests"][4:])


@pytest.mark.parametrize("kind", [Manifest, Planner, Clocky, Length, Skills, Shuffled, Early])
def test_a_prefix_that_changes_between_turns_is_named_with_its_price(office: Office, kind: Any) -> None:
    board = Board()
    two = [look, evolve(look, name="Peek", tool_name="peek")]
    office.turn(kind(board), actions=two)
    board.artifacts, board.plan, board.now, board.skill = ["[A]"], "approved", "10:30", True
    office.turn(kind(board), actions=two)
    section = {
        "manifest": "section manifest",
        "planner": "section plan",
        "clocky": "section clock",
        "length": "section length",
        "skills": "tool unlocked",
        "shuffled": "tools",
        "early": "message 0",  # what was put there
    }
    broken = [row for row in office.told().json["requests"] if row["change"]]
    (change,) = [row["change"] for row in broken]
    assert (change["plugin"], change["section"]) == (kind.name, section[kind.name])
    assert change["declared"] is (kind is Skills)
    assert change["lost"] > (100 if kind is Early else 1000)  # messages alone, or all of it
    assert broken[0]["wasted"] == change["lost"]
    how = "declared" if kind is Skills else "undeclared"
    line = f"request 5: {how} break: {change['section']} of plugin {kind.name}: "
    assert line in office.told().out


def test_a_rewritten_message_is_named(office: Office) -> None:
    office.turn(Sliding())
    told = office.told()
    assert "request 4: undeclared break: message 2 of plugin sliding: was sent before" in told.out
    assert "tokens paid again" in told.out


def test_a_gap_that_the_cache_did_not_live_through_is_explained(office: Office, clock: Any) -> None:
    office.turn()
    office.wire.advance(1200)
    clock.advance(1200)
    office.turn()
    told = office.told(picture=office.folder / "requests.svg")
    assert "tokens paid again: expired: 1,200 s since the request before, kept for 300 s" in told.out
    striped = [number for number, bar in enumerate(bars(office), 1) if "url(#again)" in fills(bar)]
    assert striped == [row["number"] for row in told.json["requests"] if row["wasted"]] == [5]


def test_missing_usage_and_an_unmarked_last_tool_are_named(office: Office) -> None:
    office.wire.play([{**reply, "usage": False} for reply in STEPS])
    many = [
        look,
        *(evolve(look, name=f"look {n}", tool_name=f"look_{n}", description="x" * 900) for n in range(4)),
    ]
    office.turn(on=(), actions=many)
    told = office.told()
    assert "the provider reported no usage (4 of 4 requests)" in told.out
    assert "the last tool carries no breakpoint (4 of 4 requests)" in told.out
    office.wire.play(STEPS)
    office.turn(actions=many)
    assert "the last tool carries no breakpoint (4 of 8 requests)" in office.told().out


def test_a_run_alone_a_picture_and_an_unknown_id(office: Office) -> None:
    office.turn()
    run = office.turn().answer.run_id
    told = office.told(picture=office.folder / "requests.svg").json
    drawn = bars(office)
    assert len(drawn) == len(told["requests"]) == 8
    assert COLOURS["written"] in fills(drawn[0])
    assert COLOURS["read"] in fills(drawn[-1])
    said = [each.text for each in parts(office, "text")]
    assert said[0] == f"c-1: 8 requests, hit {told['totals']['hit']:.0%}"
    assert [number for number in "12345678" if number not in said] == []
    alone = office.console.run("cache", run, "--json").json
    assert [row["run"] for row in alone["requests"]] == [run] * 4
    assert alone["requests"][0]["number"] == 5
    wrong = office.console.run("cache", "c-2")
    assert wrong.code == 2
    assert wrong.errors == ["there is no conversation or run 'c-2'; did you mean 'c-1'?"]


def test_the_line_at_the_end_of_a_run_names_what_broke(office: Office) -> None:
    source = (
        "import pathlib\nfrom wakeful import hookimpl\nfrom wakeful.types import Section\n"
        "class Plugin:\n    @hookimpl\n    def prompt_sections(self):\n"
        "        return [Section('clock', 50, pathlib.Path('now').read_text())]\n"
    )
    office.console.install("clocky", source, {"clocky": "Plugin"})
    (office.folder / "wakeful.toml").write_text(
        '[agents.desk]\nmodel = "anthropic:claude-sonnet-4-6"\n'
        f'instructions = "{HELP}"\nplugins.enable = ["cache", "clocky"]\n'
        f'[plugins.anthropic]\napi_key = "k"\nbase_url = "{office.wire.anthropic_url}"\n',
        encoding="utf-8",
    )
    office.wire.play(["One.", "Two.", "Three."])
    for now in ("09:00", "10:30"):
        (office.folder / "now").write_text(now, encoding="utf-8")
        done = office.console.run("run", "desk", "Hello", "--conversation", "c-1")
        assert done.code == 0, done.err
        lines = [line for line in done.err.splitlines() if line.startswith(("usage:", "prefix:"))]
        if now == "10:30":
            assert "prefix: undeclared: section clock of clocky: sections: clock, " in lines[-1]
            assert "tokens paid again" in lines[-1]
        else:
            assert len(lines) == 1
