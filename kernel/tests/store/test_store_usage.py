"""What requests used is read back as it was written, on both databases."""

from __future__ import annotations

from functools import partial

import pytest

import wakeful
from wakeful import Agent
from wakeful.store.records import get_run
from wakeful.testing import ScriptedModel, say
from wakeful.types import Usage

USED = Usage(10, 5, 2, 8, 0.5, reasoning=3, write_1h=4)
SILENT = Usage(reported=False)


@pytest.mark.parametrize("database", ["url", "postgresql"])
async def test_usage_is_read_back_by_another_application(
    database: str, request: pytest.FixtureRequest
) -> None:
    store = request.getfixturevalue(database)
    model = ScriptedModel([say("One.", usage=USED), say("Two.", usage=SILENT)])
    async with wakeful.open(Agent(model=model, store=store)) as app:
        runs = [(await app.send("agent", "Hi", conversation="c")).run_id for _ in range(2)]
    async with wakeful.open(Agent(model=ScriptedModel([]), store=store)) as app:
        for run_id, used in zip(runs, (USED, SILENT), strict=True):
            found = await app.store.read(partial(get_run, run_id=run_id))
            assert found is not None
            assert found.model_calls[0].usage == found.steps[0].usage == used
            assert found.run.usage.reported is used.reported
            assert (found.run.usage.read, found.run.usage.write_1h) == (used.read, used.write_1h)
