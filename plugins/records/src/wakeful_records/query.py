"""Checking a query: one statement that only reads, and only what the agent may see.

What is executed is not the text that was written but the statement that was understood, written anew:
comments and hints are gone, every table is a table of the catalogue under its full name, a table with
hidden columns is a subquery over the visible ones, and common table expressions have names no table has.
So the database itself cannot find anything hidden, however the query is built.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import sqlglot
from attrs import frozen
from sqlglot import exp
from sqlglot.errors import SqlglotError

from wakeful.types import ActionError, near
from wakeful_records.functions import TABLE_COLUMNS, allowed, function_name
from wakeful_records.schema import Catalogue, Entity, unknown_entity

#: Longest query in characters, and deepest nesting of parentheses, so that parsing stays cheap.
LENGTH_LIMIT = 20_000
DEPTH_LIMIT = 60

_ONLY = "Write one SELECT, WITH … SELECT, UNION or VALUES statement that only reads."
_FIRST_WORDS = {"SELECT", "WITH", "VALUES", "TABLE"}
#: What no reading statement contains, anywhere.
_WRITING = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock, exp.Pragma, exp.Attach, exp.Detach, exp.Set)
_STRANGE = (
    exp.Parameter,
    exp.SessionParameter,
    exp.Placeholder,
    exp.PropertyEQ,
    exp.Operator,
    exp.ObjectIdentifier,
    exp.PseudoType,
    exp.Pivot,
    exp.Dot,
)
_SELECT_PARTS = ("into", "locks", "settings", "format", "for_", "connect", "options", "prewhere", "kind")
_TABLE_PARTS = ("pivots", "version", "when", "changes", "partition", "pattern", "format", "system_time")


@frozen
class Checked:
    """A query that may run: its text, and the entities it reads."""

    sql: str
    entities: tuple[Entity, ...]


def check(text: str, dialect: str, catalogue: Catalogue, extra: Iterable[str] = ()) -> Checked:
    """Check a query and write it anew.

    Args:
        text: what the model wrote.
        dialect: sqlglot's name of the database's dialect.
        catalogue: what may be read.
        extra: function names allowed beside the built-in list.

    Raises:
        ActionError: QUERY_SYNTAX, READ_ONLY_QUERY, UNKNOWN_ENTITY or UNKNOWN_ENTITY_FIELDS.
    """
    tree = _parse(text, dialect)
    _refuse_writing(tree)
    functions = frozenset(name.lower() for name in extra)
    for function in tree.find_all(exp.Func):
        if not allowed(function, functions):
            raise _refusal(f"the function {function_name(function)!r} may not be called")
    tables = _rename_common_tables(tree)
    entities = [_qualify(table, dialect, catalogue) for table in tables]
    _check_columns(tree, catalogue, entities)
    for select in tree.find_all(exp.Select):
        select.set("hint", None)
        select.set("operation_modifiers", None)
    return Checked(tree.sql(dialect, comments=False), tuple(dict.fromkeys(entities)))


def _refusal(what: str, suggestion: str = _ONLY) -> ActionError:
    return ActionError("READ_ONLY_QUERY", what, suggestion=suggestion)


def _parse(text: str, dialect: str) -> exp.Expr:
    if len(text) > LENGTH_LIMIT:
        raise ActionError("QUERY_SYNTAX", f"the query is longer than {LENGTH_LIMIT} characters")
    try:
        tokens = sqlglot.tokenize(text, read=dialect)
        _check_tokens(tokens)
        statements = sqlglot.parse(text, read=dialect)
    except (SqlglotError, RecursionError) as error:
        raise ActionError("QUERY_SYNTAX", _syntax(error), suggestion=f"The dialect is {dialect}.") from None
    found = [item for item in statements if item is not None and not isinstance(item, exp.Semicolon)]
    if len(found) != 1:
        raise _refusal(f"expected one statement, found {len(found)}")
    tree = found[0]
    # SQLite takes no parentheses around a whole query.
    while isinstance(tree, exp.Subquery) and not any(
        value for key, value in tree.args.items() if key != "this"
    ):
        tree = tree.this
    return tree


def _check_tokens(tokens: Sequence[Any]) -> None:
    """Refuse what is plainly no query before it is parsed, with its own word in the message."""
    first = next((token.text for token in tokens if token.text not in {"(", ";"}), "")
    if first.upper() not in _FIRST_WORDS:
        raise _refusal(f"a query does not start with {first!r}" if first else "the query is empty")
    depth = 0
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth > DEPTH_LIMIT:
            raise ActionError("QUERY_SYNTAX", f"parentheses are nested deeper than {DEPTH_LIMIT}")
        # MySQL and MariaDB execute /*! … */ and /*M! … */, which every parser takes for comments.
        if any(comment.lstrip().startswith(("!", "M!")) for comment in token.comments):
            raise _refusal("executable comments are not allowed")


def _syntax(error: BaseException) -> str:
    details = getattr(error, "errors", None)
    if details:
        first = details[0]
        where = f"line {first.get('line')}, column {first.get('col')}"
        what = str(first.get("description")).split(" but got <")[0]
        return f"{where}: {what} at {first.get('highlight')!r}"
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).split("\n")[0]
    return text[:200] or type(error).__name__


def _refuse_writing(tree: exp.Expr) -> None:
    root = tree
    while isinstance(root, exp.Subquery | exp.Paren):
        root = root.this
    if not isinstance(root, exp.Select | exp.SetOperation | exp.Values):
        raise _refusal("the statement is not a query")
    for node in tree.walk():
        if isinstance(node, _WRITING):
            raise _refusal("the statement would write, lock or change settings")
        if isinstance(node, _STRANGE):
            kind = type(node).__name__.lower()
            raise _refusal(f"{node.sql()!r} is not allowed ({kind})", "Write plain values and columns.")
        if isinstance(node, exp.DataType) and node.this == exp.DataType.Type.USERDEFINED:
            raise _refusal(
                "a cast to a type of the database's own is not allowed", "Cast to a built-in type."
            )
        if isinstance(node, exp.In) and node.args.get("field") is not None:
            raise _refusal("IN needs a list or a query in parentheses", "Write IN (SELECT …).")
        parts: tuple[str, ...] = _SELECT_PARTS if isinstance(node, exp.Query) else ()
        parts = _TABLE_PARTS if isinstance(node, exp.Table) else parts
        used = [part for part in parts if node.args.get(part)]
        if used:
            raise _refusal(f"{used[0].rstrip('_').upper()} is not allowed")


def _rename_common_tables(tree: exp.Expr) -> list[exp.Table]:
    """Give every common table expression a name no table has; return the references to real tables.

    A reference that is wrongly taken for one or the other finds nothing, so a mistake here cannot
    show a hidden table.
    """
    renamed: dict[int, str] = {}
    for number, common in enumerate(tree.find_all(exp.CTE), 1):
        renamed[id(common)] = f"{common.alias}__cte{number}"
    real: list[exp.Table] = []
    for table in list(tree.find_all(exp.Table)):
        if not isinstance(table.this, exp.Identifier):
            continue
        meant = None if table.args.get("db") else _common_table(table)
        if meant is None:
            real.append(table)
            continue
        if not table.alias:
            table.set("alias", exp.TableAlias(this=table.this.copy()))
        table.set("this", exp.to_identifier(renamed[id(meant)], quoted=True))
    for common in tree.find_all(exp.CTE):
        common.args["alias"].set("this", exp.to_identifier(renamed[id(common)], quoted=True))
    return real


def _common_table(table: exp.Table) -> exp.CTE | None:
    """Return the common table expression a table name refers to, or None."""
    for common in _in_scope(table):
        if common.alias.casefold() == table.name.casefold():
            return common
    return None


def _in_scope(table: exp.Table) -> Iterator[exp.CTE]:
    """Yield the common table expressions a reference can see, the nearest first."""
    inside: exp.Expr = table
    node = table.parent
    own: exp.CTE | None = None
    while node is not None:
        if isinstance(inside, exp.CTE):
            own = inside
        if isinstance(node, exp.With):
            earlier = node.expressions[: node.expressions.index(own)]
            yield from reversed(earlier)
            if node.args.get("recursive") and own is not None:
                yield own
        else:
            clause = node.args.get("with_")
            if clause is not None and clause is not inside:
                yield from reversed(clause.expressions)
        inside, node = node, node.parent


def _qualify(table: exp.Table, dialect: str, catalogue: Catalogue) -> Entity:
    """Replace a table by the entity it names: its full name, and only its visible columns."""
    schema, written = table.text("db"), table.name
    if table.args.get("catalog") or (schema and schema.casefold() != catalogue.schema.casefold()):
        raise unknown_entity(
            catalogue, ".".join(part for part in (table.text("catalog"), schema, written) if part)
        )
    entity = catalogue.find(written)
    if entity is None:
        raise unknown_entity(catalogue, written)
    alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
    if alias.args.get("this") is None:
        alias.set("this", table.this.copy())
    source = exp.Table(
        this=exp.to_identifier(entity.name, quoted=True),
        db=exp.to_identifier(catalogue.schema, quoted=True) if catalogue.schema else None,
        only=table.args.get("only"),
        sample=table.args.get("sample"),
    )
    outer = {key: table.args[key] for key in ("joins", "laterals") if table.args.get(key)}
    if entity.partial:
        columns = [exp.column(exp.to_identifier(name, quoted=True)) for name in entity.fields]
        shown = exp.Select(expressions=columns).from_(source, dialect=dialect)
        table.replace(exp.Subquery(this=shown, alias=alias, **outer))
    else:
        source.set("alias", alias)
        for key, value in outer.items():
            source.set(key, value)
        table.replace(source)
    return entity


def _check_columns(tree: exp.Expr, catalogue: Catalogue, entities: Iterable[Entity]) -> None:
    """Refuse columns that no table of the query has; the database checks which table has which.

    SQLite would take an unknown name in double quotes for a text.
    """
    fields = {name for entity in entities for name in entity.fields}
    names = set(fields)
    names.update(alias.alias for alias in tree.find_all(exp.Alias))
    for alias in tree.find_all(exp.TableAlias):
        names.add(alias.name)
        names.update(column.name for column in alias.args.get("columns") or ())
    for function in tree.find_all(exp.Func):
        names.add(function_name(function))
    if any(not isinstance(table.this, exp.Identifier) for table in tree.find_all(exp.Table)):
        names |= TABLE_COLUMNS
    known = {name.casefold() for name in names}
    for column in tree.find_all(exp.Column):
        if isinstance(column.this, exp.Star):
            continue
        schema = column.text("db")
        if schema and schema.casefold() == catalogue.schema.casefold():
            column.set("db", None)  # the table has an alias now, which hides its schema
        if column.name.casefold() not in known and not re.fullmatch(r"column\d+", column.name):
            close = near(column.name, fields)
            raise ActionError(
                "UNKNOWN_ENTITY_FIELDS",
                f"no table of the query has a column {column.name!r}",
                suggestion="Read the columns with describe_entity; write texts in single quotes.",
                suggested=close,
                next_actions=("describe_entity",),
            )
