"""``wakeful cache``: what each request of a conversation read, wrote and lost, and whose fault that was."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wakeful.cli.options import DEFAULT_FILE, AsJson, File
from wakeful.cli.output import note, plain, say, say_json, say_red, say_table

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from wakeful_cache.figures import Line, Totals

_HEADERS = ("", "step", "tools", "system", "history", "state", "read", "written", "uncached", "hit", "wasted")
#: Ids that are looked at to find the one that somebody may have meant.
NEAR = 500


def cache(
    name: Annotated[str, typer.Argument(metavar="ID", help="Id of a conversation or of a run.")],
    svg: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Draw the requests into this file.")
    ] = None,
    file: File = DEFAULT_FILE,
    *,
    json: AsJson = False,
) -> int:
    """Show what each request read from the provider's cache, and what broke its prefix."""
    from wakeful.cli.records import read
    from wakeful.types import NotFoundError, nearest
    from wakeful_cache.figures import Totals

    found = read(file, lambda conn: _lines(conn, name))
    if found is None or found[0] is None:
        hint = nearest(name, found[2], limit=3) if found and found[2] else "; there are no runs yet"
        raise NotFoundError(f"there is no conversation or run {name!r}{hint}")
    conversation, lines, _ = found
    totals = Totals.of(lines)
    if svg is not None:
        _draw(svg, f"{name}: {totals.requests} requests, hit {totals.hit:.0%}", lines)
    if json:
        say_json(document(conversation, lines, totals))
    else:
        show(lines, totals)
    return 0


def _lines(conn: Connection, name: str) -> tuple[str | None, tuple[Line, ...], tuple[str, ...]]:
    from wakeful.store.records import list_conversations, run_ids
    from wakeful_cache.figures import conversation_of, lines_of

    conversation = conversation_of(conn, name)
    if conversation is None:
        known = (*run_ids(conn, NEAR), *(each.id for each in list_conversations(conn, limit=NEAR)))
        return None, (), known
    lines = lines_of(conn, conversation)
    return conversation, tuple(line for line in lines if name in {conversation, line.run}), ()


def _draw(path: Path, title: str, lines: tuple[Line, ...]) -> None:
    from wakeful.types import ConfigError, Problem
    from wakeful_cache.picture import svg

    try:
        path.write_text(svg(title, lines), encoding="utf-8")
    except OSError as error:
        raise ConfigError([Problem("--svg", f"{path} cannot be written: {error.strerror}")]) from error
    note(f"drawn: {path}")


def document(conversation: str | None, lines: tuple[Line, ...], totals: Totals) -> dict[str, Any]:
    """Return everything as the JSON document of ``--json``."""
    requests = []
    for line in lines:
        usage = plain(line.usage) | {"input": line.usage.input}
        requests.append({**plain(line), "usage": usage, "hit": round(line.hit, 4)})
    return {
        "conversation": conversation,
        "requests": requests,
        "totals": {
            "requests": totals.requests,
            "input": totals.usage.input,
            "read": totals.usage.read,
            "written": totals.usage.write,
            "uncached": totals.usage.uncached,
            "output": totals.usage.output,
            "cost": totals.usage.cost,
            "hit": round(totals.hit, 4),
            "wasted": totals.wasted,
            "declared_breaks": totals.declared,
            "undeclared_breaks": totals.undeclared,
        },
    }


def show(lines: tuple[Line, ...], totals: Totals) -> None:
    """Print the table, then what was wrong."""
    say_table(_HEADERS, [_row(line) for line in lines])
    used = totals.usage
    say(
        f"{totals.requests} requests: in {used.input:,}, read {used.read:,}, written {used.write:,}, "
        f"uncached {used.uncached:,}; hit {totals.hit:.1%}, wasted {totals.wasted:,}"
    )
    for line in lines:
        _explain(line)
    findings = Counter(finding for line in lines for finding in line.findings)
    for finding, count in findings.items():
        say_red(f"{finding} ({count} of {totals.requests} requests)")


def _row(line: Line) -> tuple[str, ...]:
    used = line.usage
    parts = [f"{line.tokens[part]:,}" for part in ("tools", "system", "history", "state")]
    step = str(line.step) if line.kind == "step" else f"{line.step} {line.kind}"
    sums = (f"{used.read:,}", f"{used.write:,}", f"{used.uncached:,}", f"{line.hit:.0%}")
    return (str(line.number), step, *parts, *sums, f"{line.wasted:,}" if line.wasted else "")


def _explain(line: Line) -> None:
    change = line.change
    if change is None:
        if line.wasted:
            say(f"request {line.number}: {line.wasted:,} tokens paid again: {line.why}")
        return
    whose = f" of plugin {change.plugin}" if change.plugin else ""
    how = "declared" if change.declared else "undeclared"
    text = (
        f"request {line.number}: {how} break: {change.section}{whose}: {change.reason}: "
        f"{max(line.wasted, change.lost):,} tokens paid again"
    )
    (say if change.declared else say_red)(text)
    if change.before or change.after:
        say(f"  before: {change.before!r}")
        say(f"  after:  {change.after!r}")
