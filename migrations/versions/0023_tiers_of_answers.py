"""Keep the tier with which a request for work or an answer came."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0021"
branch_labels = None
depends_on = None

_TABLES = ("assignment", "answer")


def upgrade() -> None:
    for table in _TABLES:
        op.add_column(table, sa.Column("tier", sa.Text()))


def downgrade() -> None:
    for table in _TABLES:
        op.drop_column(table, "tier")
