"""How a stream is sent, and how it goes wrong."""

from __future__ import annotations

from wakeful.testing.wire.dialect import Dialect
from wakeful.testing.wire.holds import Holds
from wakeful.testing.wire.scenario import Reply
from wakeful.testing.wire.web import web

#: What servers send so that an idle connection is not cut.
COMMENT = b": keep-alive\n\n"
HEADERS = {"content-type": "text/event-stream", "cache-control": "no-cache"}


async def send(request: web.Request, dialect: Dialect, reply: Reply, holds: Holds) -> web.StreamResponse:
    """Send an answer as a stream and return its response.

    Args:
        request: what is answered.
        dialect: has the pieces.
        reply: its delays and faults.
        holds: where the stream waits.
    """
    out = web.StreamResponse(headers=HEADERS)
    await out.prepare(request)
    trouble = reply.error.get("stream")
    pieces = _pieces(dialect, reply)
    if not reply.chunk_ms and reply.hold_at is None:
        await out.write(b"".join(pieces))
    else:
        for n, piece in enumerate(pieces):
            if n == reply.hold_at:
                await holds.hold()
            await out.write(piece)
            if reply.chunk_ms:
                await holds.pause(reply.chunk_ms)
    if trouble in {"truncate", "bad_json"} and request.transport is not None:
        if trouble == "truncate":
            request.transport.abort()
        return out
    await out.write_eof()
    return out


def _pieces(dialect: Dialect, reply: Reply) -> list[bytes]:
    pieces = dialect.frames()
    trouble = reply.error.get("stream")
    if trouble:
        at = reply.error.get("at")
        pieces = pieces[: max(1, len(pieces) // 2) if at is None else int(at)]
        if trouble != "truncate":
            pieces.append(dialect.trouble(trouble, len(pieces)))
    if reply.keep_alive:
        pieces = [part for piece in pieces for part in (COMMENT, piece)]
    if reply.split_bytes:
        whole, size = b"".join(pieces), reply.split_bytes
        pieces = [whole[i : i + size] for i in range(0, len(whole), size)]
    return pieces
