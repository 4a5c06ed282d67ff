"""The plugin: eight actions over one database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import sqlalchemy as sa

from wakeful.hookspecs import hookimpl
from wakeful.tools.declare import action
from wakeful.types import (
    Action,
    ActionError,
    ActionResult,
    Effect,
    Json,
    Param,
    ResultCode,
    Services,
)
from wakeful_records import reader, search, write
from wakeful_records.database import Database, parse_url
from wakeful_records.describe import description
from wakeful_records.query import check
from wakeful_records.reflection import reflect
from wakeful_records.schema import Catalogue, Entity
from wakeful_records.search import Filter, Page
from wakeful_records.settings import RecordsSettings

_T = TypeVar("_T")
_Work = Callable[[sa.Connection, Catalogue], _T]

_EntityName = Annotated[str, Param("name of a table or view", role="object")]
_Id = Annotated[
    str | int | dict[str, Any],
    Param("value of the key; an object when it has several columns", role="object"),
]
_Values = Annotated[dict[str, Any], Param("field names and their new values", role="content")]
_Version = Annotated[str | int | None, Param("version as read, for entities that have one", role="value")]

#: Seconds describe_entity spends on counting rows before it does without.
_COUNT_S = 2.0
#: Seconds the kernel waits longer than the database is given.
_SLACK_S = 10.0
#: Most columns a query's summary names.
_NAMED_COLUMNS = 30
#: Refusals after which the schema may have changed since it was read.
_STALE = {"UNKNOWN_ENTITY", "UNKNOWN_ENTITY_FIELDS"}
_LOST = {"QUERY_FAILED", "DATABASE_UNAVAILABLE"}

_READ_CODES = ("SUCCESS", "UNKNOWN_ENTITY")
_WRITE_CODES = (
    "SUCCESS",
    "UNKNOWN_ENTITY",
    "UNKNOWN_ENTITY_FIELDS",
    "INVALID_VALUE",
    "NO_FIELDS",
    "NOT_NULL",
    "UNIQUE_CONSTRAINT",
    "REFERENCE_CONSTRAINT",
    "CHECK",
    "ENTITY_READ_ONLY",
)


class Records:
    """Gives an agent a database. One instance for each agent that enables it."""

    Settings = RecordsSettings

    def __init__(self, settings: RecordsSettings, services: Services) -> None:
        """Check the URL; nothing is opened before the first action runs.

        Raises:
            ConfigError: the URL is wrong or its driver is missing.
        """
        self._settings, self._services = settings, services
        url = parse_url(settings.url, _folder(services))
        self._database = Database(url, timeout_s=settings.timeout_s, read_only=settings.read_only)
        self._catalogue: Catalogue | None = None

    @hookimpl
    def tool_actions(self) -> Sequence[Action]:
        """Declare the actions; those that write only when the settings allow it."""
        read, written, external = Effect.READ, Effect.WRITE, Effect.EXTERNAL
        made = [
            self._action(self.list_entities, read, ("SUCCESS",)),
            self._action(self.describe_entity, read, _READ_CODES),
            self._action(
                self.get_record, read, (*_READ_CODES, "RECORD_NOT_FOUND", "INVALID_VALUE", "NO_KEY")
            ),
            self._action(self.search_records, read, (*_READ_CODES, "UNKNOWN_ENTITY_FIELDS", "INVALID_VALUE")),
            self._action(
                self.run_query,
                read,
                (*_READ_CODES, "UNKNOWN_ENTITY_FIELDS", "READ_ONLY_QUERY", "QUERY_SYNTAX", "QUERY_FAILED"),
            ),
        ]
        if not self._settings.read_only:
            gone = ("RECORD_NOT_FOUND", "CONCURRENT_UPDATE")
            made += [
                self._action(self.create_record, written, _WRITE_CODES),
                self._action(self.update_record, written, (*_WRITE_CODES, *gone, "NO_CHANGES")),
                self._action(
                    self.delete_record,
                    external,
                    ("SUCCESS", "UNKNOWN_ENTITY", *gone, "REFERENCE_CONSTRAINT", "ENTITY_READ_ONLY"),
                ),
            ]
        return made

    async def close(self) -> None:
        """Close the connections."""
        await self._database.close()

    async def list_entities(self) -> ActionResult:
        """List the tables and views of the database."""

        def work(_: sa.Connection, catalogue: Catalogue) -> ActionResult:
            entities = [
                {
                    "name": entity.name,
                    "kind": "view" if entity.view else "table",
                    "writable": self._writes(entity),
                }
                for entity in catalogue.entities.values()
            ]
            return ActionResult(message=f"{len(entities)} entities", outputs={"entities": entities})

        # A new table must show up, so the list is always read anew.
        self._catalogue = None
        return await self._run(work)

    async def describe_entity(self, entity: _EntityName) -> ActionResult:
        """Describe the columns, key, references and number of rows of a table or view."""
        found = await self._run(lambda _, catalogue: catalogue.entity(entity))
        rows = await self._count(found)
        return description(found, rows, self._settings, writable=self._writes(found))

    async def get_record(self, entity: _EntityName, id: _Id) -> ActionResult:  # noqa: A002  # the argument's name
        """Get one record by its key."""

        def work(connection: sa.Connection, catalogue: Catalogue) -> ActionResult:
            found = catalogue.entity(entity)
            row = write.find(connection, found, id)
            return ActionResult(
                message=f"1 {found.name} record", outputs={"record": search.record(found, row)}
            )

        return await self._run(work)

    async def search_records(
        self,
        entity: _EntityName,
        filters: Annotated[list[Filter] | None, Param("all must hold", role="value")] = None,
        text: Annotated[str, Param("found in any text column, case ignored", role="value")] = "",
        order_by: Annotated[str, Param("column to sort by; the key when empty")] = "",
        *,
        descending: Annotated[bool, Param("largest first")] = False,
        limit: Annotated[int, Param("most records to return")] = 20,
        offset: Annotated[int, Param("records to skip, as a result's next_offset says")] = 0,
    ) -> ActionResult:
        """Search records by conditions or text. Returns the records, the total and the next offset."""
        page = Page(order_by, descending, max(1, min(limit, self._settings.max_rows)), max(0, offset))

        def work(connection: sa.Connection, catalogue: Catalogue) -> ActionResult:
            found = catalogue.entity(entity)
            made = search.search(connection, found, filters or (), text, page)
            outputs: dict[str, Json] = {"records": made.records, "total": made.total}
            message = f"{len(made.records)} of {made.total} {found.name} records"
            following = page.offset + len(made.records)
            if made.records and following < made.total:
                outputs["next_offset"] = following
                message += f", next offset {following}"
            return ActionResult(message=message, outputs=outputs)

        return await self._run(work)

    async def run_query(
        self, sql: Annotated[str, Param("one SELECT statement in the database's dialect", role="value")]
    ) -> ActionResult:
        """Run one read-only SQL query: joins, aggregates, CTEs and window functions are fine."""
        clock = self._services.clock
        started = clock.monotonic()

        def work(connection: sa.Connection, catalogue: Catalogue) -> ActionResult:
            checked = check(sql, self._database.sqlglot, catalogue, self._settings.query_functions)
            made = reader.execute(connection, checked, catalogue, self._settings)
            elapsed = round((clock.monotonic() - started) * 1000)
            more = "of more rows" if made.more else "row" if len(made.rows) == 1 else "rows"
            names = ", ".join(made.columns[:_NAMED_COLUMNS])
            names += ", …" if len(made.columns) > _NAMED_COLUMNS else ""
            return ActionResult(
                message=f"{elapsed} ms, {len(made.rows)} {more}, columns: {names}",
                outputs={"rows": made.rows},
            )

        return await self._run(work)

    async def create_record(self, entity: _EntityName, values: _Values) -> ActionResult:
        """Create a record. Returns its key."""

        def work(connection: sa.Connection, catalogue: Catalogue) -> ActionResult:
            found = catalogue.entity(entity)
            key = write.create(connection, catalogue, found, values)
            outputs = {} if key is None else {"id": key}
            return ActionResult(message=f"{found.name} record created", outputs=outputs)

        return await self._run(work, changes=True)

    async def update_record(
        self,
        entity: _EntityName,
        id: _Id,  # noqa: A002  # the argument's name
        values: _Values,
        version: _Version = None,
    ) -> ActionResult:
        """Change fields of one record; the others stay. Returns which fields changed."""
        locked = (self._settings.version_column, version)

        def work(connection: sa.Connection, catalogue: Catalogue) -> ActionResult:
            found = catalogue.entity(entity)
            made = write.update(connection, catalogue, found, id, values, locked)
            if not made.fields:
                return ActionResult(
                    code="NO_CHANGES", message=f"the {found.name} record already has these values"
                )
            outputs: dict[str, Json] = {"changed": list(made.fields)}
            if made.version is not None:
                outputs["version"] = made.version
            return ActionResult(message=f"{found.name} record updated", outputs=outputs)

        return await self._run(work, changes=True)

    async def delete_record(
        self,
        entity: _EntityName,
        id: _Id,  # noqa: A002  # the argument's name
        version: _Version = None,
    ) -> ActionResult:
        """Delete one record for good. Returns what it held."""
        locked = (self._settings.version_column, version)

        def work(connection: sa.Connection, catalogue: Catalogue) -> ActionResult:
            found = catalogue.entity(entity)
            gone = write.delete(connection, catalogue, found, id, locked)
            return ActionResult(message=f"{found.name} record deleted", outputs={"deleted": gone})

        return await self._run(work, changes=True)

    def _action(self, method: Callable[..., Any], effect: Effect, codes: Sequence[str]) -> Action:
        known = [ResultCode(code, code in {"SUCCESS", "NO_CHANGES"}) for code in codes]
        return action(
            effect=effect,
            output_trust=self._settings.trust,
            result_codes=known,
            category="records",
            timeout_s=self._settings.timeout_s + _SLACK_S,
        )(method)

    def _writes(self, entity: Entity) -> bool:
        return entity.writable and not self._settings.read_only

    async def _count(self, entity: Entity) -> int | None:
        count = sa.select(sa.func.count()).select_from(entity.table)
        try:
            return await self._database.run(
                lambda connection: int(connection.execute(count).scalar_one()), seconds=_COUNT_S
            )
        except ActionError as error:
            if error.code == "QUERY_TIMEOUT":
                return None
            raise

    async def _run(self, work: _Work[_T], *, changes: bool = False) -> _T:
        """Run ``work`` with the schema; once more with a new one when it does not know a name.

        Names are checked before anything is written, so the second attempt repeats nothing.
        """

        def attempt(connection: sa.Connection) -> _T:
            cached = self._catalogue
            catalogue = self._catalogue = cached or reflect(connection, self._settings)
            try:
                return work(connection, catalogue)
            except ActionError as error:
                if cached is None or error.code not in _STALE:
                    raise
            catalogue = self._catalogue = reflect(connection, self._settings)
            return work(connection, catalogue)

        try:
            return await self._database.run(attempt, write=changes)
        except ActionError as error:
            if error.code in _LOST:
                self._catalogue = None
            raise


def _folder(services: Services) -> Path:
    """Return the folder of wakeful.toml, from which relative paths start."""
    return Path(getattr(services, "folder", None) or Path.cwd())
