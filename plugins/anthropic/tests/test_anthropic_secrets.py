"""The key and the headers are nowhere but on the wire."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from wakeful import action
from wakeful.app import App
from wakeful.types import ModelError

from .conftest import KEY, RawServer, asked, http

Desk = Callable[..., AbstractAsyncContextManager[App]]
Bind = Callable[..., Any]


@action(effect="read")
def look(key: str) -> str:
    """Look something up."""
    return f"value of {key}"


async def test_the_key_is_in_no_log_event_error_or_database(
    wire: Any, desk: Desk, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: Any
) -> None:
    caplog.set_level(logging.DEBUG)  # the SDK and its transport log much more then
    refused = {"error": {"kind": "auth", "message": f"Incorrect API key provided: {KEY}."}}
    wire.play(["Hello.", {"calls": [{"tool": "look", "args": {"key": "a"}}]}, refused], api_key=KEY)
    seen = []
    async with desk(look) as app:
        for text in ("Hi", "Look"):
            seen += [repr(event) async for event in app.stream("agent", text, conversation="c-1")]
        seen += [repr(app), repr(vars(app)), repr(app.agents["agent"]), repr(app.agents["agent"].model)]
        seen.append(repr(app.agents["agent"].model.models))  # type: ignore[attr-defined]  # the patient model's
    assert "Incorrect API key provided: [secret]." in "".join(seen)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 0
    printed = capfd.readouterr()
    everything = [
        *seen,
        caplog.text,
        printed.out,
        printed.err,
        *(path.read_bytes().decode("latin-1") for path in files),
    ]
    assert [text[:200] for text in everything if KEY in text] == []
    assert "httpx2" in caplog.text  # there was something to find


async def test_an_answer_that_repeats_the_headers_is_masked(raw: RawServer, bind: Bind) -> None:
    raw.answers = [http({"error": {"type": "api_error", "message": f"Bearer {KEY} x-api-key: {KEY}"}}, 500)]
    with pytest.raises(ModelError) as caught:
        await bind(raw.url).complete(asked("Hi"), "c")
    assert KEY.encode() in raw.requests[0]
    assert str(caught.value).endswith("server (500): Bearer [secret] x-api-key: [secret]")


async def test_a_password_in_an_address_is_sent_and_not_shown(raw: RawServer, bind: Bind) -> None:
    raw.answers = [
        http({"error": {"type": "api_error", "message": "no pa 55, pa%2055 or Basic YWRhOnBhIDU1 here"}}, 500)
    ]
    model = bind(raw.url.replace("http://", "http://ada:pa%2055@"))
    with pytest.raises(ModelError) as caught:
        await model.complete(asked("Hi"), "c")
    assert b"authorization: basic ywrhonbhidu1" in raw.requests[0].lower()
    assert str(caught.value).endswith("no [secret], [secret] or Basic [secret] here")
    assert "pa%2055" not in repr(model)


async def test_a_key_of_a_letter_hides_no_words(wire: Any, bind: Bind) -> None:
    wire.play(["Hello."], api_key=KEY)
    with pytest.raises(ModelError, match=r"invalid x-api-key$"):
        await bind(wire.anthropic_url, api_key="k").complete(asked("Hi"), "c")


def test_the_key_is_in_no_representation(bind: Bind) -> None:
    model = bind()
    assert KEY not in repr(model)
    assert KEY not in repr(model.connection)
    assert KEY not in repr(model.faults)
    assert KEY not in repr(model.clients)
