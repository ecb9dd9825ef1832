"""Take the prior of an item as an opinion of a source, and keep what is stated about the accuracy of workers."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

# The source of the priors is a worker, whose skill the next refit estimates.
_SOURCES = """
    INSERT INTO worker (job_id, worker)
    SELECT job_id, 'prior' FROM job WHERE EXISTS (
        SELECT FROM item WHERE item.job_id = job.job_id AND item.prior IS NOT NULL)
    ON CONFLICT DO NOTHING"""


def upgrade() -> None:
    op.add_column("job", sa.Column("source", JSONB(none_as_null=True)))
    op.add_column("item", sa.Column("prior_answered", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_index("ix_item_prior", "item", ["job_id", "item_id"], postgresql_where=sa.text("prior IS NOT NULL"))
    for name in ("stated_accuracy", "stated_weight"):
        op.add_column("worker", sa.Column(name, sa.Double()))
    op.create_check_constraint(
        op.f("ck_worker_stated_with_a_weight"), "worker", "(stated_accuracy IS NULL) = (stated_weight IS NULL)"
    )
    op.execute(_SOURCES)


def downgrade() -> None:
    op.drop_constraint(op.f("ck_worker_stated_with_a_weight"), "worker")
    for name in ("stated_weight", "stated_accuracy"):
        op.drop_column("worker", name)
    op.drop_index("ix_item_prior", "item")
    op.drop_column("item", "prior_answered")
    op.drop_column("job", "source")
