"""Keep the responses to requests that carry an idempotency key."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "stored_response",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("headers", sa.JSON(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("job_id", "key", name=op.f("pk_stored_response")),
    )
    op.create_index("ix_stored_response_created_at", "stored_response", ["created_at"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_stored_response_created_at", table_name="stored_response")
    op.drop_table("stored_response")
