"""Keep the price that a job expects its workers to charge, and how far items are judged by it."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job", sa.Column("price", sa.Double(), nullable=False, server_default=sa.text("1")))
    op.add_column("job", sa.Column("repriced_to", sa.BigInteger()))


def downgrade() -> None:
    op.drop_column("job", "repriced_to")
    op.drop_column("job", "price")
