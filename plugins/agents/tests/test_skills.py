"""Skills: a catalogue in the prefix, bodies as results, locks on what they bring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wakeful
from plugins.agents.tests.effects import run_turn
from wakeful import Agent, action
from wakeful.testing import ScriptedModel, say
from wakeful.types import ConfigError

HERE = Path(__file__).parent
sent: list[str] = []


@action(effect="external", output_trust="trusted")
async def send_invoice(number: str) -> str:
    """Send an invoice."""
    sent.append(number)
    return "sent"


def agent(*lines: Any, folders: list[str] | None = None, plugins: tuple[str, ...] = ()) -> Agent:
    return Agent(
        model=ScriptedModel(list(lines)),
        actions=[send_invoice],
        plugins=["skills", *plugins],
        settings={"skills": {"folders": folders or [str(HERE / "skills")]}},
    )


def test_a_skill_is_loaded_as_a_result_and_unlocks_its_action() -> None:
    sent.clear()
    send = ("send_invoice", {"number": "7"})
    lines = [say(calls=[send]), say(calls=[("load_skill", {"name": "invoices"})]), say(calls=[send]), "Done."]
    result = run_turn(agent(*lines), "Send invoice 7")
    locked, loaded, done = result.calls
    assert (locked.result.code, sent) == ("SKILL_LOCKED", ["7"])  # once, at the end
    assert "load_skill(invoices)" in locked.text
    assert "Every invoice has a number" in loaded.text
    assert loaded.result.message == "skill invoices; unlocked: send_invoice"
    assert loaded.result.outputs["files"] == ["terms.md"]
    assert done.result.success
    first = result.requests[0]
    for request in result.requests[1:]:
        assert [tool.spelling for tool in request.tools] == [tool.spelling for tool in first.tools]
        assert request.system == first.system


def test_files_of_a_skill_and_nothing_outside_of_it() -> None:
    names = ["terms.md", "../letters/SKILL.md", "/etc/hostname", "SKILL.md", "a\0b", "trems.md"]
    calls = [("load_skill", {"name": "invoices", "file": name}) for name in names]
    result = run_turn(agent(say(calls=calls), "Done."), "Read")
    assert [call.result.code for call in result.calls] == ["SUCCESS", *["NO_SUCH_FILE"] * 5]
    assert result.calls[0].result.outputs == {"text": "Pay within 30 days.\n"}
    assert "terms.md" in result.calls[-1].text


def test_what_a_folder_may_not_hand_out(tmp_path: Path) -> None:
    home = tmp_path / "a"
    (home / "deep").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("open sesame")
    (home / "SKILL.md").write_text("---\nname: a\ndescription: x\n---\n")
    (home / "deep" / "good.md").write_text("\ufeffgood\0")
    (home / "long.md").write_text("x" * 200_001)
    (home / "picture.png").write_bytes(b"\x89PNG")
    (home / ".env").write_text("open sesame")
    (home / "link.md").symlink_to(tmp_path / "secret.txt")
    (home / "out").symlink_to(tmp_path)
    names = [
        *(
            "deep/good.md",
            "long.md",
            "picture.png",
            ".env",
            "link.md",
            "out/secret.txt",
            "deep/../../secret.txt",
        ),
        str(tmp_path / "secret.txt"),
    ]
    calls = [("load_skill", {"name": "a", "file": name}) for name in names]
    result = run_turn(
        agent(say(calls=[*calls, ("load_skill", {"name": "a"})]), "Done.", folders=[str(home)]), "Read"
    )
    assert [call.result.code for call in result.calls] == [
        "SUCCESS",
        *["UNREADABLE"] * 2,
        *["NO_SUCH_FILE"] * 5,
        "SUCCESS",
    ]
    assert result.calls[0].result.outputs == {"text": "good\ufffd"}
    assert "sesame" not in "".join(call.text for call in result.calls)


def test_a_folder_of_many_files_names_the_first(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "SKILL.md").write_text("---\nname: a\ndescription: x\n---\n")
    for number in range(300):
        (tmp_path / "a" / f"{number:03}.md").write_text("x")
    result = run_turn(
        agent(say(calls=[("load_skill", {"name": "a"})]), "Done.", folders=[str(tmp_path)]), "Read"
    )
    assert result.calls[0].result.outputs["files"] == [f"{number:03}.md" for number in range(200)]


async def test_a_lock_on_no_action_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "SKILL.md").write_text("---\nname: a\ndescription: x\nactions: [send_invocie]\n---\n")
    async with wakeful.open(agent("x", "y", folders=[str(tmp_path)])) as app:
        await app.send("agent", "Go")
        await app.send("agent", "Go")
    said = "a/SKILL.md: actions: no action is named 'send_invocie' now; did you mean 'send_invoice'?"
    assert [record.getMessage() for record in caplog.records] == [f"skills: {said}"]


def test_an_unknown_skill_names_the_near_ones() -> None:
    result = run_turn(agent(say(calls=[("load_skill", {"name": "invoice"})]), "Done."), "Read")
    assert result.calls[0].result.code == "NO_SUCH_SKILL"
    assert "invoices" in result.calls[0].text


def test_a_hundred_skills_cost_names_and_descriptions(tmp_path: Path) -> None:
    for number in range(100):
        folder = tmp_path / "skills" / f"skill-{number}"
        folder.mkdir(parents=True)
        body = f"BODY{number} " * 500
        (folder / "SKILL.md").write_text(
            f"---\nname: skill-{number}\ndescription: What {number} is for.\n---\n{body}"
        )
        (folder / "more.md").write_text(body)
    lines = [say(calls=[("load_skill", {"name": "skill-42"})]), "Done."]
    result = run_turn(agent(*lines, folders=[str(tmp_path / "skills")]), "Go")
    before, after = result.requests
    system = "\n".join(before.system)
    assert "BODY" not in before.canonical()
    assert all(f"- skill-{number}: What {number} is for." in system for number in range(100))
    assert len(system) < 100 * 40
    assert "BODY42" in after.canonical()
    assert (before.tools, before.system) == (after.tools, after.system)
    assert after.canonical().startswith(before.canonical()[: before.canonical().index("Go")])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a", "no head", "a/SKILL.md: no head"),
        ("a", "---\nname: b\ndescription: x\n---\n", "'b' is in the folder 'a'"),
        ("a", "---\nname: a\n---\n", "description: expected a text"),
        ("a", "---\nname: A B\ndescription: x\n---\n", "name: expected lower-case words"),
        (
            "a",
            "---\nname: a\ndescription: x\nactoins: [x]\n---\n",
            "unknown key 'actoins'; did you mean 'actions'",
        ),
        ("a", "---\nname: a\ndescription: x\nactions: x\n---\n", "actions: expected a list"),
        ("a", "---\nname: [\n---\n", "the head is no YAML"),
        ("a", "---\nname: a\ndescription: " + "[" * 1500 + "\n---\n", "the head is nested too deep"),
        ("a", "---\nname: a\ndescription: x\n---\n" + "x" * 200_000, "is longer than 200,000 bytes"),
        ("a", "---\nname: a\ndescription: \ud800\n---\n", "is no UTF-8 text"),
    ],
)
async def test_a_folder_that_is_no_skill_stops_the_agent(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "SKILL.md").write_bytes(text.encode("utf-8", "surrogatepass"))
    async with wakeful.open(agent("x", folders=[str(tmp_path)])) as app:
        with pytest.raises(ConfigError) as caught:
            await app.send("agent", "Go")
    assert said in str(caught.value)


async def test_a_file_that_is_nearly_a_skill_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "skill.md").write_text("---\nname: a\ndescription: x\n---\n")
    async with wakeful.open(agent("x", folders=[str(tmp_path)])) as app:
        with pytest.raises(ConfigError, match=r"a/skill.md: is called SKILL.md where it counts"):
            await app.send("agent", "Go")


async def test_a_missing_folder_is_named() -> None:
    async with wakeful.open(agent("x", folders=["no/such"])) as app:
        with pytest.raises(ConfigError, match="there is no folder 'no/such'"):
            await app.send("agent", "Go")
