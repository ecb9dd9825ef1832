"""Give workers a price."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("worker", sa.Column("price", sa.Numeric(), server_default=sa.text("1"), nullable=False))
    op.create_check_constraint("price_is_an_amount", "worker", "price >= 0 AND price < 'Infinity'")
    op.alter_column("worker", "skill", nullable=True)


def downgrade() -> None:
    op.execute("DELETE FROM worker WHERE skill IS NULL")
    op.alter_column("worker", "skill", nullable=False)
    op.drop_constraint("ck_worker_price_is_an_amount", "worker")
    op.drop_column("worker", "price")
