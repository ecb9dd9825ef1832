"""Hold each vote to a label once, count recounts and blocks, and remember pardons and reputations."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("item", sa.Column("scored", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.add_column("job", sa.Column("recounts", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.add_column("job", sa.Column("blocks", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.add_column("job", sa.Column("reputation", sa.Uuid()))
    op.add_column("worker", sa.Column("pardoned_at", sa.BigInteger()))
    op.add_column("worker", sa.Column("recount", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_index("ix_worker_recount", "worker", ["job_id"], postgresql_where=sa.text("recount"))
    op.execute(  # what was resolved by then, 0005 has held to its label
        "UPDATE item SET scored = job.answers FROM job WHERE item.job_id = job.job_id AND item.state = 'resolved'"
    )


def downgrade() -> None:
    op.drop_index("ix_worker_recount", table_name="worker")
    op.drop_column("worker", "recount")
    op.drop_column("worker", "pardoned_at")
    op.drop_column("job", "reputation")
    op.drop_column("job", "blocks")
    op.drop_column("job", "recounts")
    op.drop_column("item", "scored")
