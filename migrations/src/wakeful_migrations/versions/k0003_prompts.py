"""What a request was made of, which tokens were reasoning, and under which configuration a prefix began."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "k0003"
down_revision = "k0002"
branch_labels = None
depends_on = None

_USAGE = ("run", "step", "model_call")


def _number(name: str, default: str = "0") -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False, server_default=sa.text(default))


def upgrade() -> None:
    """Add the columns; calls of before count as reported, without reasoning."""
    for table in _USAGE:
        op.add_column(table, _number("tokens_reasoning"))
        op.add_column(table, _number("tokens_write_1h"))
        op.add_column(table, _number("reported", "1"))
    op.add_column("model_call", sa.Column("prompt", sa.Text, nullable=False, server_default="{}"))
    op.add_column("epoch", sa.Column("configuration", sa.Text, nullable=False, server_default=""))


def downgrade() -> None:
    """Drop the columns."""
    op.drop_column("epoch", "configuration")
    op.drop_column("model_call", "prompt")
    for table in _USAGE:
        for name in ("tokens_reasoning", "tokens_write_1h", "reported"):
            op.drop_column(table, name)
