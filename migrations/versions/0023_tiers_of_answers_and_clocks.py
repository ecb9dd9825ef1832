"""Keep tiers of answers and assignments, and when an item joined its job.

The time is that of the clocks of `random`. Items that a job has already keep 0, the time at which most of them joined.
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

_TABLES = ("assignment", "answer")


def upgrade() -> None:
    for table in _TABLES:
        op.add_column(table, sa.Column("tier", sa.Text()))
    op.add_column("item", sa.Column("joined", sa.Double(), nullable=False, server_default=sa.text("0")))


def downgrade() -> None:
    op.drop_column("item", "joined")
    for table in _TABLES:
        op.drop_column(table, "tier")
