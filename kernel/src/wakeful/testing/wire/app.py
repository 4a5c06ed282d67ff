"""The HTTP side: paths, conversations, and the way of one request through meter and scenario."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from attrs import define, field

from wakeful.testing.wire import control
from wakeful.testing.wire.anthropic import Anthropic
from wakeful.testing.wire.bill import Bill
from wakeful.testing.wire.canon import BadRequestError, Body, Canon, dumps
from wakeful.testing.wire.canonical_anthropic import canon_anthropic
from wakeful.testing.wire.chat import Chat
from wakeful.testing.wire.dialect import Dialect
from wakeful.testing.wire.faults import FaultError, scripted, too_long
from wakeful.testing.wire.holds import Holds
from wakeful.testing.wire.meter import Meter
from wakeful.testing.wire.responses import Responses
from wakeful.testing.wire.scenario import Reply, Scenario
from wakeful.testing.wire.stream import send
from wakeful.testing.wire.thoughts import Memory
from wakeful.testing.wire.thread import ExhaustedError, Thread
from wakeful.testing.wire.web import web
from wakeful.types import WakefulError

#: In a first user message: the name of the conversation.
MARK = re.compile(r"\[\[conv:([\w.-]+)\]\]")
#: The header that names the conversation.
HEADER = "x-wire-conversation"
#: Largest request in bytes.
LARGEST = 64 * 2**20
#: Status in the books of a request whose client went away.
GONE = 499


@define
class _Exchange:
    """One request on its way: what is known of it when something goes wrong."""

    conversation: str = "?"
    raw: bytes = b""
    row: Body = field(factory=dict)
    kept: bool = False


class App:
    """A scripted model behind three wire formats; :class:`Running` serves it.

    Args:
        scenario: what the model says.
        meter: the books.
        strict: refuse what the real endpoints refuse.
        metering: book requests; without it the server only answers, for measurements of speed.
        keep_bodies: keep the bodies of requests.
    """

    def __init__(
        self,
        scenario: Scenario,
        meter: Meter | None = None,
        *,
        strict: bool = True,
        metering: bool = True,
        keep_bodies: bool = False,
    ) -> None:
        self.scenario, self.meter, self.strict, self.metering = scenario, meter or Meter(), strict, metering
        self.keep_bodies = keep_bodies
        self.bodies: list[Body] = []
        self.threads: dict[str, Thread] = {}
        self.memory = Memory()
        self.holds = Holds()
        self.web = web.Application(client_max_size=LARGEST)
        for prefix in ("", "/c/{conv}"):
            for root in (f"{prefix}", f"{prefix}/v1"):
                self.web.router.add_post(f"{root}/messages", self.messages)
                self.web.router.add_post(f"{root}/messages/count_tokens", self.count_tokens)
                self.web.router.add_post(f"{root}/chat/completions", self.chat)
                self.web.router.add_post(f"{root}/responses", self.respond)
                self.web.router.add_get(f"{root}/models", control.models)
                self.web.router.add_get(f"{root}/models/{{name}}", control.model)
        control.add_routes(self)

    def reset(self, scenario: Scenario | None = None) -> None:
        """Forget everything and take another scenario, if there is one."""
        self.scenario = scenario or self.scenario
        self.meter = self.meter.fresh()
        self.threads.clear()
        self.memory.clear()
        self.bodies.clear()

    async def messages(self, request: web.Request) -> web.StreamResponse:
        """Answer a request of Anthropic Messages."""
        return await self._run(request, Anthropic)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """Answer a request of OpenAI Chat Completions."""
        return await self._run(request, Chat)

    async def respond(self, request: web.Request) -> web.StreamResponse:
        """Answer a request of OpenAI Responses."""
        return await self._run(request, Responses)

    async def count_tokens(self, request: web.Request) -> web.StreamResponse:
        """Count the tokens of an Anthropic request."""
        try:
            total = canon_anthropic(await request.json()).seal(self.meter.tokenizer).total
        except BadRequestError as error:
            return web.json_response(Anthropic.fault(FaultError(400, str(error))), status=400)
        return web.json_response({"input_tokens": total})

    async def _run(self, request: web.Request, kind: type[Dialect]) -> web.StreamResponse:
        exchange = _Exchange()
        try:
            return await self._answer(request, kind, exchange)
        except (BadRequestError, ExhaustedError, WakefulError, json.JSONDecodeError) as error:
            return self._fault(kind, FaultError(400, str(error)), exchange)
        except FaultError as error:
            return self._fault(kind, error, exchange)
        except (ConnectionResetError, asyncio.CancelledError):
            if not self.holds.closed:
                await self._left(exchange)
            raise

    async def _answer(
        self, request: web.Request, kind: type[Dialect], exchange: _Exchange
    ) -> web.StreamResponse:
        exchange.raw = await request.read()
        body = json.loads(exchange.raw)
        self._authenticate(request, kind.api)
        dialect = kind(body, self.memory)
        name = exchange.conversation = _conversation(request, dialect.first_text())
        if self.keep_bodies:
            self.bodies.append(body)
        thread = self.threads.setdefault(name, self.threads.get(name) or Thread(self.scenario))
        if self.strict:
            dialect.check()
        reply = thread.reply(dialect.view())
        if reply.advance_s:
            self.meter.clock.advance(reply.advance_s)
        dialect.begin(thread, name)
        if reply.error.get("status") or reply.error.get("kind"):
            await self._wait(reply)
            raise scripted(reply.error, kind.api)
        canon, bill = self._book(dialect, reply, exchange) if self.metering else (None, Bill())
        await self._wait(reply)
        dialect.answer(reply, bill, self.meter.tokenizer if canon else None)
        if canon:
            dialect.remember(self.meter, canon)
            exchange.row["output_tokens"] = dialect.output_tokens
            self.meter.keep(exchange.row)
            exchange.kept = True
        if body.get("stream"):
            return await send(request, dialect, reply, self.holds)
        return web.json_response(dialect.whole(), dumps=dumps)

    def _authenticate(self, request: web.Request, api: str) -> None:
        key = self.scenario.api_key
        sent = {
            request.headers.get("x-api-key"),
            request.headers.get("authorization", "").removeprefix("Bearer "),
        }
        if key is not None and key not in sent:
            raise scripted({"kind": "auth"}, api)

    def _book(self, dialect: Dialect, reply: Reply, exchange: _Exchange) -> tuple[Canon, Bill]:
        canon, body, limit = dialect.canon(), dialect.body, self.scenario.context_window
        if limit is not None and canon.seal(self.meter.tokenizer).total > limit:
            raise too_long(dialect.api, canon.total, limit)
        wanted = (body.get("diagnostics") or {}).get("previous_message_id") or ""
        previous = self.meter.by_message.get(wanted)
        retention = body.get("prompt_cache_retention") or "in_memory"
        bill, row = self.meter.book(exchange.conversation, canon, retention=retention)
        dialect.diagnose(previous, canon)
        exchange.row = row | {
            "reply": reply.index,
            "indirect": reply.indirect,
            "request_bytes": len(exchange.raw),
            "stream": bool(body.get("stream")),
            "calls": [call["tool"] for call in reply.calls],
            "unreachable": reply.unreachable,
        }
        return canon, bill

    async def _wait(self, reply: Reply) -> None:
        if reply.latency_ms:
            await self.holds.pause(reply.latency_ms)
        if reply.hold:
            await self.holds.hold()

    def _fault(self, kind: type[Dialect], error: FaultError, exchange: _Exchange) -> web.Response:
        self.meter.fail(exchange.conversation, error.status, error.message)
        if error.html:
            return web.Response(
                status=error.status, headers=error.headers, text=error.html, content_type="text/html"
            )
        return web.json_response(kind.fault(error), status=error.status, headers=error.headers)

    async def _left(self, exchange: _Exchange) -> None:
        """The client went away: without a reply, or in the middle of it."""
        if exchange.kept:
            exchange.row["abandoned"] = True
        else:
            self.meter.fail(exchange.conversation, GONE, "the client went away")
        await self.holds.gone()


def _conversation(request: web.Request, first_text: str) -> str:
    found: Any = request.match_info.get("conv") or request.headers.get(HEADER)
    if found:
        return str(found)
    mark = MARK.search(first_text)
    return mark.group(1) if mark else "default"
