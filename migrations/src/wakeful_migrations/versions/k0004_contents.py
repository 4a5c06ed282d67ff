"""Which conversation keeps which content of the file store."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "k0004"
down_revision = "k0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table, and let conversations keep the results that are in the file store already."""
    op.create_table(
        "content",
        sa.Column("conversation_id", sa.Text, nullable=False),
        sa.Column("ref", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("conversation_id", "ref", name="pk_content"),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversation.id"], name="fk_content_conversation_id"),
    )
    op.execute(
        "INSERT INTO content (conversation_id, ref) "
        "SELECT DISTINCT run.conversation_id, action_call.result_ref FROM action_call "
        "JOIN run ON run.id = action_call.run_id WHERE action_call.result_ref IS NOT NULL"
    )


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("content")
