"""Keep the least cost of a job's items with the job."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job", sa.Column("least_cost", sa.Numeric(), server_default=sa.text("0"), nullable=False))
    op.execute(
        "UPDATE job SET least_cost = least.cost "
        "FROM (SELECT job_id, min(cost) AS cost FROM item GROUP BY job_id) AS least WHERE least.job_id = job.job_id"
    )


def downgrade() -> None:
    op.drop_column("job", "least_cost")
