"""Servers behind an address: the same promises over HTTP."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from contrib.mcp.tests.conftest import Desk
from wakeful.testing import FakeClock
from wakeful.testing.catalogue import tools
from wakeful.types import ActionEnded, ActionResult
from wakeful_mcp.definitions import Definition
from wakeful_mcp.testing import command, offer

LIBRARY = str(Path(__file__).with_name("library.py"))
MAKE = ("mcp_shop_crm_create_contact", {"full_name": "Ana"})


async def results(app: Any) -> list[ActionResult]:
    events = [event async for event in app.stream("agent", "Go", conversation="c")]
    return [event.result for event in events if isinstance(event, ActionEnded)]


async def accept(desk: Desk) -> int:
    return await asyncio.to_thread(desk.command, "accept", "--json")


async def test_a_server_that_goes_and_comes_back_changed(wakeful_app: Any, desk: Desk, web: Any) -> None:
    clock = FakeClock()
    file = desk.folder / "shop.json"
    offer(file, tools())
    url, process = web(*command(file, http=True))
    desk.server("shop", url=url)
    assert await accept(desk) == 0
    assert len(desk.lock().of("shop")) == 120
    agent = desk.agent(MAKE, "One.", MAKE, MAKE, "Two.", MAKE, "Three.", MAKE)
    async with wakeful_app(agent, clock=clock) as app:
        (found,) = await results(app)
        assert found.outputs == {"tool": "crm_create_contact", "arguments": MAKE[1]}
        process.kill()
        process.wait()
        down, again = await results(app)
        assert (down.code, again.code) == ("SERVER_DOWN", "SERVER_DOWN")
        assert "is tried again in" in again.message
        web(*command(file, http=True, port=urlsplit(url).port or 0))
        clock.advance(60)
        (found,) = await results(app)
        assert found.success
        offer(file, [{**tools(1)[0], "description": "Other words."}])
        (refused,) = await results(app)
        assert refused.code == "TOOL_CHANGED"


async def test_a_server_of_the_library_with_sessions(wakeful_app: Any, desk: Desk, web: Any) -> None:
    url, process = web(sys.executable, LIBRARY, "0")
    desk.server("sum", url=url, effect="read", trust="trusted")
    assert await accept(desk) == 0
    call = ("mcp_sum_add", {"a": 2, "b": 40})
    async with wakeful_app(desk.agent([call, call], "One.", call, "Two.", call)) as app:
        both = await results(app)
        assert [result.outputs for result in both] == [{"result": 42}] * 2
        process.terminate()
        process.wait()
        _, process = web(sys.executable, LIBRARY, str(urlsplit(url).port))
        (found,) = await results(app)  # the session is gone, which nobody needs to know
        assert found.outputs == {"result": 42}
        process.terminate()
        process.wait()
        web(sys.executable, LIBRARY, str(urlsplit(url).port), "Subtract.")
        (refused,) = await results(app)
        assert refused.code == "TOOL_CHANGED"


class Rude(BaseHTTPRequestHandler):
    """Answers as its path says."""

    release = threading.Event()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        what = self.path.strip("/").partition("?")[0]
        if what == "hang":
            self.release.wait(20)
        if what == "elsewhere":
            self.send_response(307)
            self.send_header("location", "http://localhost:9/mcp")
            self.end_headers()
            return
        self.send_response(401 if what == "denied" else 200)
        self.send_header("content-type", "text/html" if what == "page" else "application/json")
        if what == "bomb":
            self.send_header("content-encoding", "gzip")
        self.end_headers()
        self.wfile.write(b"<p>Hello" if what == "page" else b'"' + b"x" * 300_000 + b'"')

    def do_GET(self) -> None:
        self.send_error(405)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class's name)
        pass


@pytest.fixture
def rude() -> Iterator[str]:
    """Give the address of a server that does what its path says."""
    Rude.release = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Rude)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    Rude.release.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("denied", "HTTP status 401"),
        ("page", "Unexpected content type: text/html"),
        ("elsewhere", "not followed"),
        ("large", "more than max_bytes = 100,000"),
        ("bomb", "compresses what it was asked not to"),
    ],
)
async def test_an_address_that_is_no_server(
    wakeful_app: Any, desk: Desk, rude: str, what: str, message: str
) -> None:
    desk.server("shop", url=f"{rude}/{what}", max_bytes=100_000)
    desk.pin("shop", {"find": Definition("find", "Find.", {"type": "object"})})
    async with wakeful_app(desk.agent(("mcp_shop_find", {}))) as app:
        (result,) = await results(app)
    assert result.code == "SERVER_DOWN"
    assert message in result.message


async def test_an_address_that_never_answers(wakeful_app: Any, desk: Desk, rude: str) -> None:
    clock = FakeClock()
    desk.server("shop", url=f"{rude}/hang", start_s=5)
    desk.pin("shop", {"find": Definition("find", "Find.", {"type": "object"})})
    async with wakeful_app(desk.agent(("mcp_shop_find", {})), clock=clock) as app:
        turn = asyncio.create_task(results(app))
        while not turn.done():
            await asyncio.wait({turn}, timeout=0.3)
            clock.advance(2)
        assert "it was not ready within 5 s" in turn.result()[0].message


def test_secrets_are_printed_nowhere(
    desk: Desk,
    web: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SHOP_TOKEN", "open-sesame-42")
    offer(desk.folder / "shop.json", tools(3))
    url, _ = web(*command(desk.folder / "shop.json", http=True))
    headers = {"Authorization": "Bearer ${env:SHOP_TOKEN}"}
    desk.server("shop", url=f"{url}?key=${{env:SHOP_TOKEN}}", headers=headers)
    desk.server("nowhere", url="http://127.0.0.1:9/?key=${env:SHOP_TOKEN}")
    desk.server("broken", "no-such-${env:SHOP_TOKEN}", "--token", "${env:SHOP_TOKEN}")
    assert desk.command("accept", "shop") == 0
    for arguments in (["check"], ["check", "--json"], ["list"], ["list", "--json"], ["accept"]):
        desk.command(*arguments)
    printed = capsys.readouterr()
    assert "no program or folder 'no-such-[secret]'" in printed.out
    assert "sesame" not in printed.out + printed.err + caplog.text
    assert "HTTP Request: POST" in caplog.text  # the library does log addresses
    assert "sesame" not in (desk.folder / "mcp.lock.json").read_text()
