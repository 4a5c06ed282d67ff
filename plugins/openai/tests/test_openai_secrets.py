"""The key and the headers are nowhere but on the wire."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from wakeful.app import Agent
from wakeful.types import ModelError

KEY = "sk-proj-Zx81-not-a-real-key-4711"


@pytest.mark.parametrize("api", ["responses", "chat"])
async def test_the_key_is_in_no_log_event_error_or_database(
    api: str, wire: Any, wakeful_app: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: Any
) -> None:
    caplog.set_level(logging.DEBUG)  # the SDK and its transport log much more then
    refused = {"error": {"kind": "auth", "message": f"Incorrect API key provided: {KEY}."}}
    wire.play(["Hello.", refused], api_key=KEY)
    settings = {"base_url": wire.openai_url, "api": api, "api_key": KEY}
    seen: list[str] = []
    async with wakeful_app(Agent(model="openai:gpt-5.2", settings={"openai": settings})) as app:
        for text in ("Hi", "Again"):
            seen += [repr(event) async for event in app.stream("agent", text, conversation="c-1")]
        built = app.agents["agent"]
        seen += [repr(app), repr(built), repr(built.model), repr(built.model.models)]
    assert "Incorrect API key provided: [secret]." in "".join(seen)
    printed = capfd.readouterr()
    files = [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    everything = [*seen, caplog.text, printed.out, printed.err, *files]
    assert [text[:200] for text in everything if KEY in text or "Bearer" in text] == []
    assert "httpx2" in caplog.text  # there was something to find


async def test_a_server_that_repeats_the_headers_is_masked(raw: Any, bench: Any, ask: Any) -> None:
    said = f'{{"error": {{"message": "Authorization: Bearer {KEY}, other sk-live-0123456789"}}}}'
    raw.answer(said.encode(), status=500, kind="application/json")
    with pytest.raises(ModelError) as caught:
        await bench.bind(raw.url).complete(ask("go"), "c")
    assert KEY.encode() in raw.requests[0]
    assert str(caught.value).endswith("Authorization: Bearer [secret], other [secret]")
    assert KEY not in repr(bench.bound)


async def test_a_password_in_an_address_is_sent_as_the_address_would(raw: Any, bench: Any, ask: Any) -> None:
    raw.answer(b'{"choices": [{"message": {"content": "Hi"}}]}', kind="application/json")
    model = bench.bind(raw.url.replace("http://", "http://ada:pa%2055@"))
    await model.complete(ask("go"), "c")
    assert b"authorization: basic ywrhonbhidu1" in raw.requests[0].lower()


@pytest.mark.parametrize("api", ["responses", "chat"])
async def test_a_server_that_repeats_the_password_of_an_address_is_masked(
    api: str, raw: Any, bench: Any, ask: Any, screen: Any
) -> None:
    said = b'{"error": {"message": "no pa 55, pa%2055 or Basic YWRhOnBhIDU1 here"}}'
    raw.answer(said, status=500, kind="application/json")
    model = bench.bind(raw.url.replace("http://", "http://ada:pa%2055@"), api=api)
    for emit in (None, screen):
        with pytest.raises(ModelError) as caught:
            await model.complete(ask("go"), "c", emit)
        assert str(caught.value).endswith("no [secret], [secret] or Basic [secret] here")


@pytest.mark.parametrize(
    ("stream", "fault"),
    [(False, {"kind": "server"}), (True, {"kind": "server"}), (True, {"stream": "truncate"})],
)
async def test_nothing_of_the_sdk_hangs_on_an_error(
    stream: bool, fault: Any, wire: Any, bench: Any, ask: Any, screen: Any
) -> None:
    wire.play([{"text": "word " * 60, "error": fault}])
    with pytest.raises(ModelError) as caught:
        await bench.bind(wire.openai_url, api="chat").complete(ask("go"), "c", screen if stream else None)
    hanging: BaseException | None = caught.value
    while hanging is not None:
        assert isinstance(hanging, ModelError) or not hasattr(hanging, "request")
        hanging = hanging.__cause__ or hanging.__context__


async def test_passwords_in_an_address_are_not_shown(bench: Any, ask: Any) -> None:
    model = bench.bind("http://ada:pa55word@127.0.0.1:9/v1")
    with pytest.raises(ModelError) as caught:
        await model.complete(ask("go"), "c")
    assert "pa55word" not in str(caught.value)
    assert "127.0.0.1:9" in str(caught.value)
