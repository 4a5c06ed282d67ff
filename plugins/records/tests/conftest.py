"""A real database file with visible and hidden parts, and the plugin's actions over it."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import sqlalchemy as sa

from wakeful.tools.arguments import check_arguments
from wakeful.types import Action, ActionError, ActionResult
from wakeful_records import Records, RecordsSettings
from wakeful_records.database import Database

SCHEMA = """
CREATE TABLE customer (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE, ssn TEXT,
    active BOOLEAN NOT NULL DEFAULT 1, credit DECIMAL(10, 2), since DATE, seen DATETIME, rating REAL,
    note VARCHAR(20), data JSON, photo BLOB
);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer(id),
    total DECIMAL(10, 2) NOT NULL CHECK (total >= 0), version INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE order_item (
    order_id INTEGER REFERENCES orders(id), line INTEGER, product TEXT NOT NULL, PRIMARY KEY (order_id, line)
);
CREATE TABLE "Größe" (id INTEGER PRIMARY KEY, "Maß in cm" INTEGER);
CREATE TABLE payroll (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer(id), salary TEXT);
CREATE TABLE log (entry TEXT);
CREATE VIEW good_customer AS SELECT id, name FROM customer WHERE credit > 50;
INSERT INTO customer (id, name, email, ssn, credit, since, seen, rating, note, data, photo) VALUES
    (1, 'Ana López', 'ana@example.com', 'TOPSECRET-1', 120.5, '2024-01-31', '2026-01-02 03:04:05', 4.5, 'vip',
     '{"tags": ["a", "b"]}', x'00010203'),
    (2, 'Bo_Bo 100%', 'bo@example.com', 'TOPSECRET-2', 10, '2025-06-01', '2026-02-02T03:04:05', NULL, NULL,
     NULL, NULL),
    (3, 'ÉMILE', NULL, 'TOPSECRET-3', NULL, NULL, NULL, 1.0, 'x', NULL, NULL);
INSERT INTO orders (id, customer_id, total) VALUES (10, 1, 19.9), (11, 1, 5), (12, 2, 7.25);
INSERT INTO order_item VALUES (10, 1, 'lamp'), (10, 2, 'bulb'), (12, 1, 'desk');
INSERT INTO "Größe" VALUES (1, 42);
INSERT INTO payroll VALUES (1, 1, 'TOPSECRET-9');
INSERT INTO log VALUES ('one'), ('two');
"""
HIDDEN = {"hidden_tables": ("payroll",), "hidden_columns": ("customer.ssn",)}


class Clock:
    """Time that stands still."""

    def monotonic(self) -> float:
        return 0.0


class Services:
    """What the plugin uses of the kernel's services."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock = folder, Clock()


class Desk:
    """The actions of one plugin instance, called as the kernel calls them."""

    def __init__(self, plugin: Records) -> None:
        self.plugin, self.url = plugin, ""
        self.actions: dict[str, Action] = {item.tool_name: item for item in plugin.tool_actions()}

    async def __call__(self, tool: str, /, **arguments: Any) -> ActionResult:
        action = self.actions[tool]
        checked = check_arguments(action, arguments)
        if isinstance(checked, ActionResult):
            return checked
        try:
            return await action.run(checked, None)  # type: ignore[arg-type]  # the actions use no context
        except ActionError as error:
            return ActionResult(
                success=False, code=error.code, message=error.message, recovery=error.recovery
            )


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The database file."""
    path = tmp_path / "shop.db"
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA)
    connection.close()
    return path


@pytest_asyncio.fixture
async def desk_for(shop: Path) -> AsyncIterator[Callable[..., Desk]]:
    """Make desks with settings of their own; closed at the end."""
    made: list[Records] = []

    def build(**settings: Any) -> Desk:
        plugin = Records(RecordsSettings(**{"url": "sqlite:///shop.db"} | settings), Services(shop.parent))  # type: ignore[arg-type]  # settings by name
        made.append(plugin)
        return Desk(plugin)

    yield build
    for plugin in made:
        await plugin.close()


@pytest.fixture
def desk(desk_for: Callable[..., Desk]) -> Desk:
    """A desk with a hidden table and a hidden column."""
    return desk_for(**HIDDEN)


async def _cancelled(database: Database, change: str, endless: str) -> float:
    entered = asyncio.Event()
    loop = asyncio.get_running_loop()

    def work(connection: sa.Connection) -> None:
        connection.exec_driver_sql(change)
        loop.call_soon_threadsafe(entered.set)
        connection.exec_driver_sql(endless)

    task = asyncio.create_task(database.run(work, write=True))
    await entered.wait()
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return time.monotonic() - started


@pytest.fixture
def cancelled() -> Callable[..., Awaitable[float]]:
    """Change something, begin a statement without end, cancel it; gives the seconds that took."""
    return _cancelled
