"""The actions by which a model asks about artifacts. Declared once; they work on any handle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from attrs import evolve

from wakeful.tools.declare import action
from wakeful.types import Action, ActionContext, ActionError, ActionResult, Effect, Param, Trust
from wakeful_spillover.answers import answer
from wakeful_spillover.conditions import Filter
from wakeful_spillover.describe import names, outline
from wakeful_spillover.documents import Asked, answered
from wakeful_spillover.engine import Engine
from wakeful_spillover.jobs import Job, Runner
from wakeful_spillover.pipeline import STEPS, Flow, Step, table_answer, wrong
from wakeful_spillover.rows import Aggregate, Question, plan
from wakeful_spillover.shelf import Reads, find
from wakeful_spillover.sources import PREPARE_S, Sources
from wakeful_spillover.tables import Stored
from wakeful_spillover.texts import Grep, Text, by_number, grep, matching

Handle = Annotated[str, Param("handle of an artifact, e.g. A", role="object")]
Start = Annotated[int, Param("first to show, from 1; as next says")]

_CODES = ("SUCCESS", "NO_SUCH_ARTIFACT", "WRONG_KIND", "QUERY_STOPPED")
#: Longest wait for an action: making a table the first time, then the query.
_TIMEOUT_S = PREPARE_S + 60.0


class Questions:
    """Answers questions about the artifacts of a conversation. One for each plugin instance."""

    def __init__(self, services: Reads, engine: Engine, runner: Runner, sources: Sources) -> None:
        self._services, self._engine, self._runner, self._sources = services, engine, runner, sources

    def actions(self) -> Sequence[Action]:
        """Return the actions."""
        rows = ("UNKNOWN_COLUMN", "INVALID_VALUE", "QUERY_TOO_LARGE")
        paths = ("INVALID_PATH", "INVALID_PATTERN", "NOTHING_THERE")
        return [
            self._action(self.artifact_info, ()),
            self._action(self.artifact_json, paths),
            self._action(self.artifact_rows, rows),
            self._action(self.artifact_text, ("INVALID_PATTERN",)),
            self._action(self.run_pipeline, (*rows, *paths)),
        ]

    def _action(self, method: Callable[..., Any], codes: Sequence[str]) -> Action:
        return action(
            effect=Effect.READ,
            output_trust=Trust.TRUSTED,  # the artifact's own trust is in every answer
            result_codes=(*_CODES, *codes),
            timeout_s=_TIMEOUT_S,
            category="artifacts",
        )(method)

    async def artifact_rows(  # noqa: PLR0913, PLR0917  # parameters of the tool
        self,
        ctx: ActionContext,
        handle: Handle,
        columns: Annotated[list[str] | None, Param("columns to show; # is the row's number")] = None,
        filters: Annotated[list[Filter] | None, Param("conditions on rows")] = None,
        match: Annotated[Literal["all", "any"], Param("whether all or any must hold")] = "all",
        group_by: Annotated[list[str] | None, Param("columns of the groups")] = None,
        aggregates: Annotated[list[Aggregate] | None, Param("figures over rows or groups")] = None,
        sort: Annotated[list[str] | None, Param("columns; -column is descending")] = None,
        start: Start = 1,
        limit: Annotated[int, Param("most rows")] = 50,
    ) -> ActionResult:
        """Filter, sort, group and sum up the rows of a table artifact. Gives rows, total and next."""
        found = await self._found(ctx, handle)
        ask = Question(columns or (), filters or (), match, sort or (), group_by or (), aggregates or ())
        first, most = _page(start, limit)

        def work(job: Job) -> ActionResult:
            with self._engine.cursor(job, self._services.files) as cursor:
                source = self._sources.relation(job, cursor, self._services.files, found)
                return table_answer(cursor, found, plan(source, ask), first, most)

        return await self._run(found, work)

    async def artifact_json(
        self,
        ctx: ActionContext,
        handle: Handle,
        path: Annotated[str, Param("JSONPath, e.g. $.items[?@.price > 10].name")] = "$",
        *,
        keys: Annotated[bool, Param("list keys instead of values")] = False,
        search: Annotated[str, Param("pattern (RE2) to find in keys and values below the path")] = "",
        iterate: Annotated[list[str] | None, Param("paths inside each thing found, a column each")] = None,
        start: Start = 1,
        limit: Annotated[int, Param("most elements")] = 100,
    ) -> ActionResult:
        """Look into nested JSON: values at a path, keys, a search, or a table of parts of each element."""
        found = await self._found(ctx, handle)
        asked = Asked(path, keys, search, iterate or ())
        first, most = _page(start, limit)

        def work(job: Job) -> ActionResult:
            noun, items = self._sources.looked(job, self._services.files, found, asked)
            return answered(found, noun, items, asked, first, most)

        return await self._run(found, work)

    async def artifact_text(
        self,
        ctx: ActionContext,
        handle: Handle,
        pattern: Annotated[str, Param("lines that match (RE2); empty: lines by number")] = "",
        *,
        literal: Annotated[bool, Param("find the pattern as it stands")] = False,
        ignore_case: Annotated[bool, Param("whether case does not matter")] = True,
        context: Annotated[int, Param("lines around each match")] = 0,
        start: Annotated[int, Param("first match or line, from 1; negative: so many lines from the end")] = 1,
        limit: Annotated[int, Param("most matches or lines")] = 50,
    ) -> ActionResult:
        """Find lines of an artifact's text with what is around them, or read lines by number."""
        found = await self._found(ctx, handle)
        asked = Grep(pattern, ignore_case, literal, max(0, context))

        def work(job: Job) -> ActionResult:
            text = Text(self._sources.text(self._services.files, found))
            if not pattern:
                first = start if start > 0 else max(1, len(text) + 1 + start)
                return by_number(found, text, *_page(first, limit))
            return matching(found, text, grep(job, text, asked), asked, *_page(start, limit))

        return await self._run(found, work)

    async def artifact_info(self, ctx: ActionContext, handle: Handle) -> ActionResult:
        """Say all about an artifact: what made it, its size, all columns or its shape."""
        found = await self._found(ctx, handle)
        about: dict[str, Any] = {
            "kind": found.kind,
            "made_by": f"{found.name}, output {found.output}, version {found.version}",
            "row_of_transcript": found.seq or None,
            "bytes": found.size,
            "rows" if found.kind == "table" else "lines": found.rows,
            "columns": names(found.columns, 6000) if found.columns else None,
            "table_at": found.path or None,
            "media": found.media or None,
        }

        def work(job: Job) -> ActionResult:
            if found.kind == "json":
                about["shape"] = outline(self._sources.value(job, self._services.files, found), 3000)
            known = {name: value for name, value in about.items() if value is not None}
            return answer(found, {"artifact": known}, start=1, shown=1, total=1, noun="artifacts")

        return await self._run(found, work)

    async def run_pipeline(
        self,
        ctx: ActionContext,
        handle: Handle,
        steps: Annotated[list[Step], Param("1 to 8 operations, each on what the one before gave")],
        start: Start = 1,
        limit: Annotated[int, Param("most rows, values or lines of the last")] = 50,
    ) -> ActionResult:
        """Chain operations on an artifact in one call, e.g. find lines, then count them by a group."""
        if not 1 <= len(steps) <= STEPS:
            raise wrong("steps", f"1 to {STEPS} operations go")
        found = await self._found(ctx, handle)
        first, most = _page(start, limit)

        def work(job: Job) -> ActionResult:
            files = self._services.files
            with self._engine.cursor(job, files) as cursor:
                flow = Flow(job, cursor, self._sources, files, found)
                for place, step in enumerate(steps):
                    flow.step(step, place)
                return flow.answer(first, most)

        return await self._run(found, work)

    async def _found(self, ctx: ActionContext, handle: str) -> Stored:
        return await find(self._services, ctx.run.conversation, handle)

    async def _run(self, found: Stored, work: Callable[[Job], ActionResult]) -> ActionResult:
        """Run a query; what it says when it fails may quote the artifact, so it is trusted no further."""
        try:
            if found.kind == "table":
                await self._sources.ready(self._services.files, found)
            return await self._runner.run(work)
        except ActionError as error:
            return evolve(error.quoting(found.trust, found.source).result(), bounded=True)


def _page(start: int, limit: int) -> tuple[int, int]:
    return max(1, start), max(1, min(limit, 10_000))
