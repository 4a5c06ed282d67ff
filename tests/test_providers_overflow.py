"""A provider finds a request too long: room is made, it is sent again and the run ends normally."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.providers import KEY, Way, each_way, streaming_or_not, turn, write
from wakeful.types import MessageChanged, RunStatus

pytest.importorskip("wakeful_recovery")

#: Tokens that the server takes; the model's own window, which the client believes in, is far larger.
WINDOW = 4_000
TURNS = 8

LONG = '''

@action(effect="read", output_trust="trusted")
def report(number: int) -> str:
    """Return a report."""
    return f"report {number}: " + "all is well in this part of the house. " * 90
'''


def desk(folder: Path, wire: Any, way: Way, *, stream: bool) -> Path:
    table = way.table(way.url(wire), stream=stream, key=KEY)
    file = write(folder, table, model=way.spelled, more='plugins.enable = ["lifecycle"]')
    office = folder / "office.py"
    office.write_text(office.read_text(encoding="utf-8") + LONG, encoding="utf-8")
    return file


@each_way
@streaming_or_not
async def test_the_error_of_every_wire_format_makes_room(
    wire: Any, wakeful_app: Any, tmp_path: Path, way: Way, stream: bool
) -> None:
    # A refused request has used up its reply: the next answer may be a call where a text was to be, or none.
    call = {"calls": [{"tool": "report", "args": {"number": 1}}]}
    wire.play([call, "Done."] * (3 * TURNS), api_key=KEY, context_window=WINDOW)
    changes: list[MessageChanged] = []
    async with wakeful_app(desk(tmp_path, wire, way, stream=stream)) as app:
        for number in range(TURNS):
            turned = await turn(app, f"Report {number}, please.")
            changes += turned.of(MessageChanged)
            assert turned.answer.status is RunStatus.COMPLETED, turned.answer.error
            assert turned.answer.text == "Done."
    assert changes
    assert any(row.get("error") for row in wire.meter.rows), "the server never found a request too long"
    assert {change.kind for change in changes} <= {"removed", "compacted"}
