"""Keep answers that were imported and wait to be recorded, and how many of a job's answers were imported."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job", sa.Column("imported", sa.BigInteger(), nullable=False, server_default=sa.text("0")))
    op.create_table(
        "imported_answers",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("item_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("workers", ARRAY(sa.Text()), nullable=False),
        sa.Column("tiers", ARRAY(sa.Text()), nullable=False),
        sa.Column("labels", ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("numbers", ARRAY(sa.Double()), nullable=False),
        sa.Column("answered_at", ARRAY(sa.DateTime(timezone=True)), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id", "item_id"],
            ["item.job_id", "item.item_id"],
            name=op.f("fk_imported_answers_item"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("job_id", "item_id", name=op.f("pk_imported_answers")),
    )


def downgrade() -> None:
    op.drop_table("imported_answers")
    op.drop_column("job", "imported")
