"""The fixture, the scenarios that come with it, the paths under /__wire__ and the command."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import anthropic
import openai
import pytest

from wakeful.testing.wire import Wire, scenarios
from wakeful.types import WakefulError

HI: Any = [{"role": "user", "content": "hi"}]
NAMES = ("search", "read", "write")


def ask(url: str, **more: Any) -> Any:
    with anthropic.Anthropic(api_key="k", base_url=url, max_retries=0) as client:
        return client.messages.create(**{"model": "claude-opus-5", "max_tokens": 9, "messages": HI, **more})


def call(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, {"content-type": "application/json"})  # noqa: S310  # loopback
    with urlopen(request, timeout=10) as answer:  # noqa: S310  # loopback
        return json.loads(answer.read())


def test_the_fixture_in_a_test_without_an_event_loop(wire: Wire) -> None:
    wire.play(["Hello.", {"text": "Again."}])
    assert [ask(wire.url).content[0].text for _ in range(2)] == ["Hello.", "Again."]
    assert [body["messages"] for body in wire.requests] == [HI, HI]
    assert wire.summary()["requests"] == 2
    assert wire.explain().count("\n") == 1
    client = openai.OpenAI(api_key="k", base_url=wire.openai_url, max_retries=0)
    with client, pytest.raises(openai.BadRequestError, match="has no reply number 3"):
        client.responses.create(model="gpt-5.2", input="hi")


async def test_the_fixture_in_an_async_test(wire: Wire) -> None:
    wire.play(["Hello."], rules=[{"when": {"last_contains": "bye"}, "reply": {"text": "Bye."}}])
    client: Any = anthropic.AsyncAnthropic(api_key="k", base_url=wire.anthropic_url)
    async with client:
        said = [
            await client.messages.create(
                model="m", max_tokens=9, messages=[{"role": "user", "content": text}]
            )
            for text in ("bye", "hi")
        ]
    assert [message.content[0].text for message in said] == ["Bye.", "Hello."]


def test_playing_forgets_what_was_before(wire: Wire) -> None:
    wire.play(["One."])
    ask(wire.url)
    wire.play(["Two."])
    assert wire.requests == []
    assert wire.summary()["requests"] == 0
    assert ask(wire.url).content[0].text == "Two."


def test_conversations_have_their_own_place_in_the_script(wire: Wire) -> None:
    wire.play(["One.", "Two."])
    urls = [wire.conversation("a"), wire.conversation("b"), wire.conversation("a")]
    assert [ask(url).content[0].text for url in urls] == ["One.", "One.", "Two."]
    assert wire.summary("a")["requests"] == 2
    assert wire.summary()["conversations"] == 2


def test_the_header_names_the_conversation(wire: Wire) -> None:
    wire.play(["One.", "Two."])
    ask(wire.url, extra_headers={"x-wire-conversation": "z"})
    assert wire.meter.rows[0]["conversation"] == "z"


def test_time_moves_when_told(wire: Wire) -> None:
    wire.play(["x"], loop=True)
    marked = [{"type": "text", "text": "word " * 3000, "cache_control": {"type": "ephemeral"}}]
    ask(wire.url, system=marked)
    wire.advance(299)
    ask(wire.url, system=marked)
    wire.advance(301)
    ask(wire.url, system=marked)
    assert [row["read"] > 0 for row in wire.meter.rows] == [False, True, False]
    assert wire.meter.rows[-1]["notes"] == ["expired"]


def test_nothing_is_left_behind(wire: Wire) -> None:
    before = set(threading.enumerate())
    with Wire() as other:
        other.play([{"text": "Never.", "hold": True}, {"text": "x" * 400, "error": {"stream": "truncate"}}])
        with anthropic.Anthropic(api_key="k", base_url=other.url, max_retries=0) as client:
            held = threading.Thread(target=lambda: _ignore(client))
            held.start()
            asyncio.run(other.reached(held=1))
        url = other.url
    held.join()
    assert set(threading.enumerate()) == before
    with pytest.raises(OSError, match="refused"):
        call(f"{url}/__wire__/summary")


def _ignore(client: anthropic.Anthropic) -> None:
    try:
        client.messages.create(model="m", max_tokens=9, messages=HI)
    except anthropic.APIError:
        return


def step(wire: Wire, messages: list[Any]) -> list[Any]:
    """Ask once, as a stream, and return what the answer and its results add to the conversation."""
    tools: Any = [{"name": tool, "input_schema": {"type": "object"}} for tool in NAMES]
    client = anthropic.Anthropic(api_key="k", base_url=wire.url, max_retries=0)
    request: dict[str, Any] = {"model": "claude-opus-5", "max_tokens": 9, "messages": messages}
    with client, client.messages.stream(**request, tools=tools) as pieces:
        content = pieces.get_final_message().content
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": "ok"}
        for block in content
        if block.type == "tool_use"
    ]
    return [
        {"role": "assistant", "content": content or "(nothing)"},
        {"role": "user", "content": results or "go on"},
    ]


@pytest.mark.parametrize("name", scenarios())
def test_the_scenarios_of_the_test_kit_can_be_played_to_their_end(wire: Wire, name: str) -> None:
    wire.play(name)
    messages: list[Any] = list(HI)
    ended = False
    for _ in range(9):
        try:
            messages += step(wire, messages)
        except Exception as error:  # noqa: BLE001  # a fault of the script; the next reply is asked for
            ended = "has no reply number" in str(error)
        if ended:
            break
    assert ended
    assert wire.summary()["unreachable_tools"] == []
    assert wire.summary()["prefix_breaks"] == 0
    assert wire.summary()["requests"] >= 1


def test_an_unknown_scenario_names_the_nearest(wire: Wire) -> None:
    with pytest.raises(WakefulError, match="no scenario 'refusals' in the test kit; did you mean 'refusal'"):
        wire.play("refusals")


def test_a_scenario_from_a_file(wire: Wire, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text('{"name": "mine", "replies": [{"text": "From a file."}]}')
    wire.play(path)
    assert ask(wire.url).content[0].text == "From a file."


def test_the_control_paths(wire: Wire) -> None:
    base = f"{wire.url}/__wire__"
    assert call(f"{base}/reset", {"scenario": {"name": "new", "replies": [{"text": "x"}]}}) == {
        "ok": True,
        "scenario": "new",
    }
    assert ask(wire.url).content[0].text == "x"
    assert call(f"{base}/advance", {"seconds": 5}) == {"now": 5.0}
    assert call(f"{base}/summary?conversation=default")["requests"] == 1
    assert [row["n"] for row in call(f"{base}/log")] == [1]
    assert call(f"{base}/bodies")[0]["messages"] == HI
    assert call(f"{base}/release", {}) == {"held": 0}
    with urlopen(f"{base}/explain", timeout=10) as answer:  # noqa: S310  # loopback
        assert answer.read().startswith(b"#1")
    assert call(f"{wire.url}/v1/models")["data"] == []
    assert call(f"{wire.url}/v1/models/claude-x")["id"] == "claude-x"


def test_a_scenario_that_is_posted_may_be_texts_or_a_name_and_is_checked(wire: Wire) -> None:
    path = f"{wire.url}/__wire__/reset"
    call(path, {"scenario": {"replies": ["Hello."]}})
    assert ask(wire.url).content[0].text == "Hello."
    assert call(path, {"scenario": "refusal"})["scenario"] == "refusal"
    for wrong, words in (
        ({"replies": [{"txt": "x"}]}, "replies[0]: unknown key 'txt'; did you mean 'text'?"),
        ({"replies": [7]}, "replies[0]: must be an object, not 7"),
        ("refusals", "no scenario 'refusals' in the test kit; did you mean 'refusal'?"),
    ):
        with pytest.raises(HTTPError) as caught:
            call(path, {"scenario": wrong})
        assert caught.value.code == 400
        assert words in json.loads(caught.value.read())["error"]


def test_the_command_serves_and_sums_up(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    command = [sys.executable, "-m", "wakeful.testing.wire", "serve", "--scenario", "refusal", "--port", "0"]
    with subprocess.Popen(
        [*command, "--log", str(log), "--tokenizer", "bytes"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        ready = json.loads(server.stdout.readline())
        assert ready["tokenizer"] == "bytes/4"
        assert ask(ready["url"]).stop_reason == "refusal"
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=20)
    assert server.returncode == 0
    assert json.loads(out)["requests"] == 1
    assert err.startswith("#1")
    assert [json.loads(line)["n"] for line in log.read_text().splitlines()] == [1]


def test_the_command_names_a_missing_file() -> None:
    command = [sys.executable, "-m", "wakeful.testing.wire", "serve", "--scenario", "nowhere.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "nowhere.json" in done.stderr


def test_without_aiohttp_one_line_names_the_extra() -> None:
    code = "import sys; sys.modules['aiohttp'] = None\nimport wakeful.testing.wire as w\nw.Scenario\nw.Wire"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].endswith("run: pip install 'wakeful[testing]'")


def test_the_test_kit_starts_without_aiohttp() -> None:
    code = "import sys, wakeful.testing.plugin, wakeful.testing.wire; print('aiohttp' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "False"
