"""The environment that Alembic runs; loaded by file, not imported."""
