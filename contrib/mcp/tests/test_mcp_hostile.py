"""Servers that misbehave: every call gets a clear result, and the agent goes on."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Any

import pytest

from wakeful.testing import FakeClock
from wakeful.types import ActionEnded, ActionResult, ActionStarted, Trust


async def results(app: Any, text: str = "Go") -> list[ActionResult]:
    events = [event async for event in app.stream("agent", text, conversation="c")]
    return [event.result for event in events if isinstance(event, ActionEnded)]


async def only(app: Any) -> ActionResult:
    (result,) = await results(app)
    return result


@pytest.mark.parametrize(
    ("tool", "outputs"),
    [
        ("plain", {"text": "one\n\ntwo"}),
        ("structured", {"degrees": 21.5}),
        ("rows", {"result": [{"id": n, "name": f"row {n}"} for n in range(3)]}),
    ],
)
async def test_what_tools_return(wakeful_app: Any, hostile: Any, tool: str, outputs: Any) -> None:
    async with wakeful_app(hostile().agent((f"mcp_h_{tool}", {}))) as app:
        result = await only(app)
    assert (result.success, result.code, result.outputs) == (True, "SUCCESS", outputs)
    assert (result.trust, result.source) == (Trust.UNTRUSTED, "mcp:h")


async def test_media_are_stored_and_named(wakeful_app: Any, hostile: Any) -> None:
    async with wakeful_app(hostile().agent(("mcp_h_image", {}), ("mcp_h_files", {}))) as app:
        events = [event async for event in app.stream("agent", "Go")]
        image, files = (event.result.outputs for event in events if isinstance(event, ActionEnded))
        texts = [event.text for event in events if isinstance(event, ActionEnded)]
        assert await app.agents["agent"].services["mcp"].files.get(image["image"].ref) == b"x" * 30_001
    assert image["text"] == "a picture"
    assert "- `image`: <image/png, 30,001 bytes" in texts[0]
    assert len(texts[0]) < 200
    assert files["resources"] == [{"uri": "file:///a.txt", "text": "inside"}, {"uri": "file:///b.bin"}]
    assert files["links"] == [{"uri": "file:///c.txt", "name": "c"}]
    assert "- `file`: <application/x, 5 bytes" in texts[1]


@pytest.mark.parametrize(
    ("tool", "code", "message"),
    [
        ("fails", "TOOL_FAILED", "no such customer"),
        ("wrong", "CALL_REFUSED", "its answer is not what the protocol expects"),
        ("refuse", "CALL_REFUSED", "no tools/call here"),
        ("ask", "CALL_REFUSED", "its answer is not what the protocol expects"),
        ("crash", "CONNECTION_LOST", "ended before the answer came"),
        ("huge", "TOO_LARGE", "the answer is a message of 1,0"),
    ],
)
async def test_what_goes_wrong_is_said(
    wakeful_app: Any, hostile: Any, tool: str, code: str, message: str
) -> None:
    desk = hostile(max_bytes=100_000)
    async with wakeful_app(desk.agent((f"mcp_h_{tool}", {}), ("mcp_h_plain", {}))) as app:
        failed, after = await results(app)
    assert (failed.success, failed.code) == (False, code)
    assert message in failed.message
    assert failed.trust is Trust.UNTRUSTED  # it may quote the server
    assert after.success


async def test_output_without_end_ends_the_connection(wakeful_app: Any, hostile: Any) -> None:
    desk = hostile(max_bytes=50_000)
    async with wakeful_app(desk.agent(("mcp_h_endless", {}), ("mcp_h_plain", {}))) as app:
        lost, after = await results(app)
    assert lost.code == "CONNECTION_LOST"
    assert "it sent a message without end" in lost.message
    assert after.success


async def test_a_call_that_is_never_answered_times_out_and_others_go_on(
    wakeful_app: Any, hostile: Any
) -> None:
    clock = FakeClock()
    both: Any = [("mcp_h_hang", {}), ("mcp_h_count", {})]
    agent = hostile(timeout_s=7).agent(("mcp_h_plain", {}), "Here.", both, ("mcp_h_count", {}))
    async with wakeful_app(agent, clock=clock) as app:
        assert (await only(app)).success  # it is connected before time moves
        turn = asyncio.create_task(results(app))
        while not turn.done():
            await asyncio.wait({turn}, timeout=0.3)
            clock.advance(0.5)
        hung, beside, after = turn.result()
    assert (hung.code, hung.message) == ("TIMEOUT", "mcp_h_hang did not end within 7 s")
    assert beside.outputs["text"].startswith("3 calls of process ")
    # The same process: one call that hangs is no reason to end what others use.
    assert after.outputs["text"] == beside.outputs["text"].replace("3 calls", "4 calls")


async def test_cancelling_a_run_ends_its_call(wakeful_app: Any, hostile: Any) -> None:
    codes: list[str] = []
    async with wakeful_app(hostile().agent(("mcp_h_hang", {}), ("mcp_h_count", {}))) as app:
        async for event in app.stream("agent", "Go", conversation="c"):
            if isinstance(event, ActionStarted):
                await app.cancel(event.invocation.key.partition("/")[0])
            if isinstance(event, ActionEnded):
                codes.append(event.result.code)
        assert codes == ["CANCELLED"]
        assert (await only(app)).success  # the server serves others on


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("exit", "it ended with exit code 7: no licence for this machine"),
        ("greedy", "it lists more than 2,000 tools, or more than 100 pages of them"),
    ],
)
async def test_a_server_that_cannot_be_used_is_a_failed_result(
    wakeful_app: Any, hostile: Any, word: str, message: str
) -> None:
    async with wakeful_app(hostile(word).agent(("mcp_h_plain", {}), ("mcp_h_plain", {}))) as app:
        first, again = await results(app)
    assert first.code == again.code == "SERVER_DOWN"
    assert message in first.message
    assert "it is tried again in 1 s" in again.message


async def test_a_server_that_never_answers_is_given_up(wakeful_app: Any, hostile: Any) -> None:
    clock = FakeClock()
    async with wakeful_app(hostile("mute", start_s=9).agent(("mcp_h_plain", {})), clock=clock) as app:
        turn = asyncio.create_task(only(app))
        while not turn.done():
            await asyncio.wait({turn}, timeout=0.3)
            clock.advance(2)
        assert turn.result().code == "SERVER_DOWN"
        assert "it was not ready within 9 s" in turn.result().message


async def test_a_server_that_stops_reading_is_given_up(wakeful_app: Any, hostile: Any) -> None:
    clock = FakeClock()
    async with wakeful_app(hostile("deaf", start_s=9).agent(("mcp_h_plain", {})), clock=clock) as app:
        turn = asyncio.create_task(only(app))
        while not turn.done():
            await asyncio.wait({turn}, timeout=0.3)
            clock.advance(2)
        assert turn.result().code in {"SERVER_DOWN", "TIMEOUT"}


async def test_garbage_and_chatter_do_no_harm(
    wakeful_app: Any, hostile: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "wakeful.mcp")
    desk = hostile("chatter", env={"SHOP_KEY": "sesame-opens"})
    async with wakeful_app(desk.agent(("mcp_h_plain", {}), ("mcp_h_rows", {}))) as app:
        assert all(result.success for result in await results(app))
    said = [record.getMessage() for record in caplog.records if record.name == "wakeful.mcp"]
    assert "h: starting with key [secret]" in said
    assert any(re.fullmatch(r"h: … and \d+ more lines", line) for line in said)
    assert sum("what is no message" in line for line in said) == 1
    assert len(said) < 80
    assert max(map(len, said)) < 450
    assert "sesame" not in caplog.text
    assert "\x1b" not in "".join(said)


async def test_a_server_that_crashed_is_started_again(wakeful_app: Any, hostile: Any) -> None:
    clock = FakeClock()
    crash: Any = [("mcp_h_crash", {})]
    agent = hostile().agent(crash, crash, ("mcp_h_plain", {}), "Sorry.", ("mcp_h_count", {}))
    async with wakeful_app(agent, clock=clock) as app:
        first, second, third = await results(app)
        clock.advance(2)
        last = await only(app)
    assert first.recovery is not None
    assert "Find out whether it took effect" in first.recovery.suggestion
    assert [first.code, second.code] == ["CONNECTION_LOST"] * 2  # at once the first time
    assert third.code == "SERVER_DOWN"
    assert "exit code 3: ValueError: out of cheese; it is tried again in 2 s" in third.message
    assert last.outputs["text"].startswith("1 calls of process ")


async def test_a_server_gets_no_more_of_the_environment_than_it_needs(
    wakeful_app: Any, hostile: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not for servers")
    desk = hostile(env={"SHOP_KEY": "own"})
    async with wakeful_app(desk.agent(("mcp_h_environment", {}))) as app:
        text = (await only(app)).outputs["text"]
    names = {line.partition("=")[0] for line in text.splitlines()}
    assert {"PATH", "SHOP_KEY"} <= names
    assert names <= {"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "SHOP_KEY"} | {
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
    }
