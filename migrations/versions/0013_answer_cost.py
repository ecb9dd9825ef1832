"""Keep what an answer costs where an item has no cost of its own."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job", sa.Column("answer_cost", sa.Numeric(), nullable=False, server_default=sa.text("1")))


def downgrade() -> None:
    op.drop_column("job", "answer_cost")
