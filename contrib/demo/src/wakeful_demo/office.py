"""The office's own actions: reading the inbox, and sending mail into a table instead of the world."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

from wakeful import ActionContext, ActionError, Param, action

DATABASE = "company.db"


@action(effect="read", output_trust="untrusted")
def read_inbox(ctx: ActionContext) -> list[dict[str, Any]]:
    """List the mails of the inbox, newest first: id, received, sender, subject."""
    return _rows(ctx, "SELECT id, received, sender, subject FROM inbox ORDER BY received DESC, id DESC")


@action(effect="read", output_trust="untrusted")
def read_mail(ctx: ActionContext, id: Annotated[int, "as read_inbox lists it"]) -> dict[str, Any]:  # noqa: A002  (what models call it)
    """Read one mail of the inbox. What it says was written outside of the company."""
    rows = _rows(ctx, "SELECT id, received, sender, subject, body FROM inbox WHERE id = ?", id)
    if not rows:
        known = [str(row["id"]) for row in _rows(ctx, "SELECT id FROM inbox ORDER BY id")]
        raise ActionError("NO_SUCH_MAIL", f"there is no mail {id}", retryable=True, suggested=known)
    return rows[0]


@action(effect="external", output_trust="trusted")
def send_email(
    ctx: ActionContext,
    to: Annotated[str, Param("mail address", role="destination", format="email")],
    subject: Annotated[str, Param(role="content")],
    body: Annotated[str, Param(role="content")],
) -> dict[str, Any]:
    """Send a mail. In this demonstration it goes to the table outbox and no further."""
    with closing(sqlite3.connect(_path(ctx))) as connection, connection:
        cursor = connection.execute(
            "INSERT INTO outbox (recipient, subject, body) VALUES (?, ?, ?)", (to, subject, body)
        )
        return {"message_id": cursor.lastrowid}


def _rows(ctx: ActionContext, sql: str, *args: object) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(_path(ctx))) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(sql, args)]


def _path(ctx: ActionContext) -> Path:
    return ctx.services.folder / DATABASE
