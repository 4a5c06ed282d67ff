from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from wakeful.testing import PluginConformance


def shop(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "shop.db")) as connection:
        connection.executescript(
            "CREATE TABLE IF NOT EXISTS customer (id INTEGER PRIMARY KEY, name TEXT, version INTEGER);"
            "CREATE TABLE IF NOT EXISTS payroll (id INTEGER PRIMARY KEY, salary TEXT);"
        )


class TestRecords(PluginConformance):
    plugin = "records"
    settings = {"url": "sqlite:///shop.db"}

    def prepare(self, folder: Path) -> None:
        shop(folder)


class TestRecordsWithEverythingSet(PluginConformance):
    plugin = "records"
    settings = {
        "url": "sqlite:///shop.db",
        "hidden_tables": ["pay*"],
        "hidden_columns": ["*.ssn"],
        "version_column": "version",
        "max_rows": 7,
        "output_trust": "untrusted",
    }

    def prepare(self, folder: Path) -> None:
        shop(folder)
