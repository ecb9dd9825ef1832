"""Keep the highest number of an item, and index what lists filter by and what the end of the money is found by."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job", sa.Column("last_item", sa.BigInteger(), nullable=False, server_default=sa.text("0")))
    op.execute("UPDATE job SET last_item = items")
    op.create_index("ix_job_newest", "job", [sa.text("created_at DESC"), sa.text("job_id DESC")])
    op.drop_index("ix_item_open", "item")
    op.create_index("ix_item_state", "item", ["job_id", "state", "item_id"])
    with_label = sa.text("label IS NOT NULL")
    op.create_index("ix_item_label", "item", ["job_id", "label", "item_id"], postgresql_where=with_label)
    op.create_index("ix_item_open_cost", "item", ["job_id", "cost"], postgresql_where=sa.text("state = 'open'"))
    op.create_index("ix_worker_price", "worker", ["job_id", "price"], postgresql_where=sa.text("status = 'active'"))
    op.create_index("ix_worker_blocked", "worker", ["job_id", "worker"], postgresql_where=sa.text("status = 'blocked'"))
    op.create_index(
        "ix_worker_low_information",
        "worker",
        ["job_id", "worker"],
        postgresql_where=sa.text("low_information IS NOT NULL"),
    )


def downgrade() -> None:
    for name in ("ix_worker_low_information", "ix_worker_blocked", "ix_worker_price"):
        op.drop_index(name, "worker")
    for name in ("ix_item_open_cost", "ix_item_label", "ix_item_state"):
        op.drop_index(name, "item")
    op.create_index("ix_item_open", "item", ["job_id", "item_id"], postgresql_where=sa.text("state = 'open'"))
    op.drop_index("ix_job_newest", "job")
    op.drop_column("job", "last_item")
