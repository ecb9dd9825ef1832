"""Store for every worker how likely it repeats a source."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("worker", sa.Column("copies", sa.Double()))


def downgrade() -> None:
    op.drop_column("worker", "copies")
