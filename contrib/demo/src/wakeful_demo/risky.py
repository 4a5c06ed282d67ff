"""Actions for the scene with the hostile mail: what it asks for, and one more way out."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Annotated

from wakeful import ActionContext, Param, action
from wakeful_demo.office import DATABASE


@action(effect="write", output_trust="trusted")
def delete_mail(ctx: ActionContext, id: Annotated[int, Param(role="object")]) -> str:  # noqa: A002  (what models call it)
    """Delete a mail of the inbox."""
    _write(ctx, "DELETE FROM inbox WHERE id = ?", id)
    return "deleted"


@action(effect="fetch")
def open_page(ctx: ActionContext, url: Annotated[str, Param("address", role="destination")]) -> str:
    """Open a web page. In this demonstration its address goes to the table outbox and no further."""
    _write(ctx, "INSERT INTO outbox (recipient, subject, body) VALUES (?, 'opened', '')", url)
    return "an empty page"


def _write(ctx: ActionContext, sql: str, *args: object) -> None:
    with closing(sqlite3.connect(ctx.services.folder / DATABASE)) as connection, connection:
        connection.execute(sql, args)
