"""Media that no plugin keeps: never text for the model, its bytes in the store, carried by the answer."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wakeful import Agent, action
from wakeful.testing import Database, ScriptedModel, TurnResult, say
from wakeful.types import Request, Result

Turn = Callable[..., TurnResult]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40


@action(effect="read", output_trust="trusted")
async def draw(kind: str) -> dict[str, Any]:
    """Draw a picture."""
    data = base64.b64encode(PNG).decode()
    if kind == "declared":
        return {"media_type": "image/png", "data": data}
    raise ValueError(kind)


@action(effect="read", output_trust="trusted")
async def scan() -> str:
    """Scan a page."""
    return base64.b64encode(PNG).decode()


def shown(request: Request) -> str:
    (text,) = [item.text for item in request.items if isinstance(item, Result)]
    return text


@action(effect="read", output_trust="trusted")
async def album(pages: int) -> dict[str, Any]:
    """Give pages, each with a picture."""
    data = base64.b64encode(PNG).decode()
    scans = [{"page": 1, "image": data}, *({"page": page, "image": "none"} for page in range(2, pages + 1))]
    return {"title": "Album", "cover": {"mimeType": "image/png", "data": data}, "pages": scans}


def quoting(request: Request) -> str:
    """Answer with the handle that the result told of."""
    text = shown(request)
    return f"Here it is: {text[text.index('media:') : text.index('>')]}"


@pytest.mark.parametrize("call", [("draw", {"kind": "declared"}), ("scan", {})])
def test_a_note_stands_for_it_and_the_answer_carries_what_it_names(
    run_turn: Turn, store: Database, call: Any
) -> None:
    agent = Agent(model="", actions=[draw, scan], store=store.url)
    result = run_turn(agent, "Draw", replies=[say(calls=[call]), quoting])
    text = shown(result.requests[-1])
    assert "<image/png, 10,248 bytes, media:" in text
    assert len(text) < 300
    (medium,) = result.answer.media
    assert (medium.type, medium.size) == ("image/png", len(PNG))
    assert medium.handle in result.answer.text
    stored = store.path.with_name(f"{store.path.name}.files") / medium.ref[:2] / medium.ref[2:4] / medium.ref
    assert stored.read_bytes() == PNG


@pytest.mark.parametrize("pages", [3, 5_000])
def test_media_inside_of_an_output_become_outputs_of_their_own(
    run_turn: Turn, store: Database, pages: int
) -> None:
    agent = Agent(model="", actions=[album], store=store.url)
    result = run_turn(agent, "Show", replies=[say(calls=[("album", {"pages": pages})]), quoting])
    outputs = result.calls[0].result.outputs
    assert [name for name in outputs if name != "result"] == ["result.cover", "result.pages[0].image"]
    text = shown(result.requests[-1])
    assert base64.b64encode(PNG).decode()[:60] not in text
    assert text.count("<image/png, 10,248 bytes, media:") == 2
    assert "(medium, given as result.cover)" in text
    assert [medium.size for medium in result.answer.media] == [len(PNG)]


def test_an_answer_that_names_none_carries_none(run_turn: Turn, store: Database) -> None:
    agent = Agent(model="", actions=[scan], store=store.url)
    result = run_turn(agent, "Scan", replies=[say(calls=[("scan", {})]), "media:000000000000 is not there."])
    assert result.answer.media == ()


def test_a_later_turn_can_name_it_too_and_the_conversation_keeps_it(
    run_turn: Turn, store: Database, tmp_path: Path
) -> None:
    agent = Agent(model="", actions=[scan], store=store.url)
    replies = [say(calls=[("scan", {})]), "Scanned.", quoting]
    result = run_turn(agent, "Scan", "Show me", replies=replies)
    (medium,) = result.answer.media

    async def kept() -> set[str]:
        from wakeful.store.contents import kept
        from wakeful.store.engine import Store
        from wakeful.system import SystemClock

        opened = await Store.open(store.url, clock=SystemClock())
        try:
            return await opened.read(kept)
        finally:
            await opened.close()

    assert medium.ref in asyncio.run(kept())


async def test_an_answer_that_another_process_reads_carries_it_too(wakeful_app: Any) -> None:
    replies: list[Any] = [say(calls=[("scan", {})]), quoting]
    async with wakeful_app(Agent(model=ScriptedModel(replies), actions=[scan])) as app:
        answer = await app.send("agent", "Scan", conversation="c")
    async with wakeful_app(Agent(model=ScriptedModel([]), actions=[scan])) as app:
        again = await app.resume(answer.run_id)
    assert len(answer.media) == 1
    assert again.media == answer.media
