"""Serving: in the event loop of the caller, or in a thread with a loop of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from wakeful.testing.wire.app import App
from wakeful.testing.wire.canon import Body
from wakeful.testing.wire.meter import Meter
from wakeful.testing.wire.scenario import Scenario
from wakeful.testing.wire.web import web

#: Seconds that open requests get when the server stops.
SHUTDOWN = 1.0
#: Seconds after which a test that waits for something gives up.
PATIENCE = 10.0

Answer = TypeVar("Answer")


class Running:
    """``async with Running(App(...)) as url:`` serves on a free port of loopback.

    Args:
        app: what is served.
        host: the address.
        port: 0 takes a free one.
    """

    def __init__(self, app: App, host: str = "127.0.0.1", port: int = 0) -> None:
        self.app, self.host, self.port = app, host, port

    async def __aenter__(self) -> str:
        self._runner = web.AppRunner(
            self.app.web, access_log=None, shutdown_timeout=SHUTDOWN, handler_cancellation=True
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, self.host, self.port).start()
        return f"http://{self.host}:{self._runner.addresses[0][1]}"

    async def __aexit__(self, *error: object) -> None:
        self.app.holds.close()
        await self._runner.cleanup()


class Wire:
    """A server in a thread, for tests of any kind: the fixture ``wire``.

    ::

        def test_greeting(wire):
            wire.play(["Hello."])
            client = anthropic.Anthropic(base_url=wire.url, api_key="k")
            ...
            assert wire.summary()["prefix_breaks"] == 0, wire.explain()

    Args:
        meter: the books; by default new ones.
        strict: refuse what the real endpoints refuse.

    Attributes:
        url: the address; the base URL for Anthropic's SDK.
    """

    def __init__(self, meter: Meter | None = None, *, strict: bool = True) -> None:
        self._app = App(Scenario({}), meter, strict=strict, keep_bodies=True)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="wakeful-wire", daemon=True)
        self.url = ""

    def __enter__(self) -> Self:
        self._running = Running(self._app)
        self._thread.start()
        self.url = self._call(self._running.__aenter__())
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._call(self._running.__aexit__())
            self._call(_finished())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    @property
    def anthropic_url(self) -> str:
        """The base URL for Anthropic's SDK."""
        return self.url

    @property
    def openai_url(self) -> str:
        """The base URL for OpenAI's SDK and compatible clients."""
        return f"{self.url}/v1"

    def conversation(self, name: str) -> str:
        """Return an address like ``url`` whose requests belong to a conversation of that name."""
        return f"{self.url}/c/{name}"

    def play(
        self,
        replies: str | Path | Sequence[str | Mapping[str, Any]] = (),
        *,
        rules: Sequence[Mapping[str, Any]] = (),
        **more: Any,
    ) -> None:
        """Take a new scenario and forget everything before it.

        Args:
            replies: each a text, or a reply as :class:`Scenario` describes it. Or, instead of a list, the
                name of a scenario of the test kit, or the path of a file.
            rules: tried before the replies.
            more: other keys of the scenario, e.g. ``loop=True``.

        Raises:
            WakefulError: a key is unknown, or there is no scenario of that name.
        """
        if isinstance(replies, Path):
            scenario = Scenario(replies)
        elif isinstance(replies, str):
            scenario = Scenario.named(replies)
        else:
            scenario = Scenario({"replies": list(replies), "rules": list(rules), **more})
        self._do(lambda: self._app.reset(scenario))

    @property
    def meter(self) -> Meter:
        """The books since the last :meth:`play`."""
        return self._app.meter

    @property
    def requests(self) -> list[Body]:
        """The bodies of the requests since the last :meth:`play`, in the order they came."""
        return self._do(lambda: list(self._app.bodies))

    def summary(self, conversation: str | None = None) -> Body:
        """Return the totals, of one conversation or of all."""
        return self._do(lambda: self._app.meter.summary(conversation))

    def explain(self) -> str:
        """Return the books as readable lines."""
        return self._do(self._app.meter.explain)

    def advance(self, seconds: float) -> None:
        """Move the clock of the caches forwards."""
        self._do(lambda: self._app.meter.clock.advance(seconds))

    def release(self) -> None:
        """Let every request go on that is held now."""
        self._do(self._app.holds.release)

    async def reached(self, *, held: int = 0, left: int = 0) -> None:
        """Wait until that many requests have been held and that many clients have gone away, in all.

        Raises:
            TimeoutError: it did not happen in ten seconds.
        """
        waiting = asyncio.run_coroutine_threadsafe(self._app.holds.reached(held=held, left=left), self._loop)
        await asyncio.wait_for(asyncio.wrap_future(waiting), PATIENCE)

    def _call(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def _do(self, work: Callable[[], Answer]) -> Answer:
        async def do() -> Answer:
            return work()

        return self._call(do())


async def _finished() -> None:
    """Wait for what is left in the loop, connections that were cut included."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
