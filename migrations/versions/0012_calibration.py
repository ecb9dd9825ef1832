"""Keep what items of known truth show about a job's confidence."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job", sa.Column("calibration", postgresql.JSONB(none_as_null=True)))


def downgrade() -> None:
    op.drop_column("job", "calibration")
