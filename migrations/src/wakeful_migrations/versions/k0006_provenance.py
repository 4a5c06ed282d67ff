"""Where arguments of calls came from that were taken from somewhere."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "k0006"
down_revision = "k0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; the arguments of earlier calls were all written by their model."""
    op.add_column("action_call", sa.Column("provenance", sa.Text, nullable=False, server_default="[]"))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("action_call", "provenance")
