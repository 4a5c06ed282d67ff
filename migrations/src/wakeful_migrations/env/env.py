"""The Alembic environment of every lineage; the caller hands over an open transaction."""

from __future__ import annotations

from alembic import context

_given = context.config.attributes
_connection = _given["connection"]

context.configure(
    connection=_connection,
    target_metadata=_given.get("metadata"),
    version_table=_given["version_table"],
    render_as_batch=_connection.dialect.name == "sqlite",
)
with context.begin_transaction():
    context.run_migrations()
