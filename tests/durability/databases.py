"""Databases to kill processes on: a migrated one, copied for each run."""

from __future__ import annotations

import asyncio
import os
import shutil
from abc import ABC, abstractmethod
from pathlib import Path
from uuid import uuid4

from attrs import define, field
from sqlalchemy import create_engine, make_url
from sqlalchemy import text as sql

from tests.durability.people import lineages
from wakeful.store.engine import Store
from wakeful.store.maintain import upgrade
from wakeful.system import SystemClock
from wakeful.testing.databases import migrated

#: The variable that names a PostgreSQL server where databases may be made.
VARIABLE = "WAKEFUL_TEST_POSTGRESQL"
WITHOUT = f"{VARIABLE} names no database"


class Databases(ABC):
    """Makes databases that are alike."""

    @abstractmethod
    def make(self, name: str) -> str:
        """Make one and return its address."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Take it away again."""

    @abstractmethod
    def close(self) -> None:
        """Take everything away."""


@define
class OnSqlite(Databases):
    """Files in a folder."""

    folder: Path
    _template: Path = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._template = migrated(self.folder / "template.db")
        if lineages():
            upgrade(f"sqlite:///{self._template}", lineages())

    def make(self, name: str) -> str:
        """Copy the template."""
        path = self.folder / f"{name}.db"
        shutil.copyfile(self._template, path)
        return f"sqlite:///{path}"

    def close(self) -> None:
        """Leave it to whoever made the folder."""

    def drop(self, name: str) -> None:
        """Remove the file and what lies beside it."""
        for path in self.folder.glob(f"{name}.db*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@define
class OnPostgresql(Databases):
    """Databases of one server."""

    server: str
    _prefix: str = field(factory=lambda: f"wakeful_{uuid4().hex[:8]}", init=False)

    def __attrs_post_init__(self) -> None:
        self._admin(f'CREATE DATABASE "{self._prefix}"')

        async def migrate() -> None:
            store = await Store.open(
                self._url(self._prefix), lineages=lineages(), clock=SystemClock(), files=None
            )
            await store.close()

        asyncio.run(migrate())

    @classmethod
    def of_environment(cls) -> OnPostgresql:
        """Return those of the server that the environment names."""
        return cls(os.environ[VARIABLE])

    def make(self, name: str) -> str:
        """Copy the template on the server."""
        self._admin(f'CREATE DATABASE "{self._prefix}_{name}" TEMPLATE "{self._prefix}"')
        return self._url(f"{self._prefix}_{name}")

    def drop(self, name: str) -> None:
        """Drop it, whoever is connected."""
        self._admin(f'DROP DATABASE IF EXISTS "{self._prefix}_{name}" WITH (FORCE)')

    def close(self) -> None:
        """Drop the template."""
        self._admin(f'DROP DATABASE "{self._prefix}" WITH (FORCE)')

    def _url(self, database: str) -> str:
        return make_url(self.server).set(database=database).render_as_string(hide_password=False)

    def _admin(self, statement: str) -> None:
        engine = create_engine(
            make_url(self.server).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
        )
        with engine.connect() as connection:
            connection.execute(sql(statement))
        engine.dispose()
