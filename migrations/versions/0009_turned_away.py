"""Store for every worker why a fit gives it no new work."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("worker", sa.Column("away", JSONB(none_as_null=True)))


def downgrade() -> None:
    op.drop_column("worker", "away")
