"""Several operations on one artifact in one call; what is between them never enters the prompt."""

from __future__ import annotations

from typing import Any, Literal

from attrs import define, frozen

from wakeful.results.writing import columns as columns_of
from wakeful.types import ActionError, ActionResult, Files, InvalidParam, Json
from wakeful_spillover.answers import answer, fitting
from wakeful_spillover.conditions import Filter
from wakeful_spillover.documents import Asked, answered, results
from wakeful_spillover.jobs import Job
from wakeful_spillover.relation import Relation
from wakeful_spillover.rows import Aggregate, Plan, Question, plan, values
from wakeful_spillover.shape import dump, is_records
from wakeful_spillover.sources import Sources, loaded
from wakeful_spillover.tables import Stored
from wakeful_spillover.texts import Grep, Hits, Text, grep, matching

#: Most operations of one call; from the specification.
STEPS = 8
#: Most rows that are held in memory between two operations.
HELD = 200_000


@frozen
class Step:
    """One operation: what it takes from ``rows``, ``json`` or ``text``; others are left out.

    Args:
        op: rows (filter, group, sort a table), json (go to a path) or text (find lines).
        columns: rows: which, in this order.
        filters: rows: conditions.
        match: rows: all or any of them.
        group_by: rows: columns of the groups.
        aggregates: rows: figures.
        sort: rows: columns, -column for descending.
        limit: rows: keep so many.
        path: json: where to look.
        iterate: json: paths inside each thing found, a column each.
        pattern: text: RE2; named groups become columns.
    """

    op: Literal["rows", "json", "text"]
    columns: list[str] | None = None
    filters: list[Filter] | None = None
    match: Literal["all", "any"] = "all"
    group_by: list[str] | None = None
    aggregates: list[Aggregate] | None = None
    sort: list[str] | None = None
    limit: int | None = None
    path: str = "$"
    iterate: list[str] | None = None
    pattern: str = ""

    @property
    def question(self) -> Question:
        """The operation as a question about a table."""
        return Question(
            self.columns or (),
            self.filters or (),
            self.match,
            self.sort or (),
            self.group_by or (),
            self.aggregates or (),
        )


@define(eq=False)
class Flow:
    """What flows through a pipeline: a table, a value or lines, whichever the last operation gave."""

    job: Job
    cursor: Any
    sources: Sources
    files: Files
    found: Stored
    table: Plan | Relation | None = None
    value: Json = None
    hits: Hits | None = None
    text: Text | None = None
    grep: Grep | None = None
    begun: bool = False

    def step(self, step: Step, place: int) -> None:
        """Apply one operation to what there is."""
        if step.op == "rows":
            self._rows(step)
        elif step.op == "json":
            asked = Asked(step.path, iterate=step.iterate or ())
            _, items = results(self.job, self._value(), asked)
            self._set(value=items[0] if len(items) == 1 and not step.iterate else items)
        else:
            if not step.pattern:
                raise wrong(f"steps[{place}].pattern", "text needs a pattern")
            self._lines(Grep(step.pattern))
        self.begun = True

    def answer(self, start: int, limit: int) -> ActionResult:
        """Return one page of what came out."""
        if isinstance(self.table, Plan):
            return table_answer(self.cursor, self.found, self.table, start, limit)
        if self.hits is not None and self.text is not None and self.grep is not None:
            return matching(self.found, self.text, self.hits, self.grep, start, limit)
        if is_records(self.value):
            rows = fitting(self.value[start - 1 : start - 1 + limit])
            total = len(self.value)
            return answer(self.found, {"rows": rows}, start=start, shown=len(rows), total=total, noun="rows")
        return answered(self.found, "values", [self.value], Asked(), start, limit)

    def _set(self, *, table: Plan | None = None, value: Json = None, hits: Hits | None = None) -> None:
        self.table, self.value, self.hits = table, value, hits

    def _rows(self, step: Step) -> None:
        made = plan(self._relation(), step.question)
        if step.limit is not None:
            whole = made.relation
            limited = Relation(
                f"SELECT * FROM ({whole.sql}) ORDER BY rn LIMIT {max(0, int(step.limit))}",
                whole.params,
                whole.columns,
            )
            made = plan(limited, Question())
        self._set(table=made)

    def _relation(self) -> Relation:
        if not self.begun:
            return self.sources.relation(self.job, self.cursor, self.files, self.found)
        if isinstance(self.table, Plan):
            return self.table.relation
        if self.hits is not None and self.text is not None:
            rows: Json = self.hits.groups or [
                {"line": number, "text": self.text.line(number)} for number, _, _ in self.hits.places
            ]
        else:
            rows = self.value if isinstance(self.value, list) else [self.value]
        if not rows:
            return loaded(self.cursor, [], (("line", "integer"), ("text", "text")))
        if not is_records(rows):
            rows = [{"value": item} for item in rows]
        return loaded(self.cursor, [dump(row) for row in rows], columns_of(rows))

    def _value(self) -> Json:
        if not self.begun:
            return self.sources.value(self.job, self.files, self.found)
        if isinstance(self.table, Plan):
            return self._held(self.table)
        if self.hits is not None and self.text is not None:
            lines: Json = [self.text.line(number) for number, _, _ in self.hits.places]
            return self.hits.groups or lines
        return self.value

    def _lines(self, asked: Grep) -> None:
        if not self.begun:
            content = self.sources.text(self.files, self.found)
        else:
            value = self._value()
            lines = value if isinstance(value, list) else [value]
            content = "\n".join(item if isinstance(item, str) else dump(item) for item in lines).encode()
        text = Text(content)
        hits = grep(self.job, text, asked)
        self._set(hits=hits)
        self.text, self.grep = text, asked

    def _held(self, made: Plan) -> list[dict[str, Json]]:
        rows = self.cursor.execute(made.page.sql, [*made.page.params, HELD + 1, 0]).fetchall()
        if len(rows) > HELD:
            raise ActionError(
                "QUERY_TOO_LARGE",
                f"more than {HELD:,} rows come out of a step",
                suggestion="Filter, group or limit them before the next step.",
            )
        return [values(row, made.page.columns) for row in rows]


def table_answer(cursor: Any, found: Stored, made: Plan, start: int, limit: int) -> ActionResult:
    """Return one page of the rows of a question."""
    page = cursor.execute(made.page.sql, [*made.page.params, limit, start - 1]).fetchall()
    total = start - 1 + len(page)
    if len(page) == limit or (not page and start > 1):  # else it was the last page, and counting is spared
        (total,) = cursor.execute(made.count.sql, list(made.count.params)).fetchone()
    rows = fitting([values(row, made.page.columns) for row in page])
    note = ""
    if made.skipped is not None and made.names:
        counts = cursor.execute(made.skipped.sql, list(made.skipped.params)).fetchone()
        empty = [f"{name} {count:,}" for name, count in zip(made.names, counts, strict=True) if count]
        note = f"rows without a value, skipped: {', '.join(empty)}" if empty else ""
    noun = "groups" if made.grouped else "rows"
    return answer(found, {"rows": rows}, start=start, shown=len(rows), total=total, noun=noun, note=note)


def wrong(param: str, reason: str) -> ActionError:
    """Return the error for an argument that makes no sense."""
    return ActionError("INVALID_VALUE", f"{param}: {reason}", invalid=[InvalidParam(param, reason)])
