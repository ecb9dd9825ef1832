"""Let a job start with what an earlier job shows about its calibration."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job", sa.Column("calibration_prior", JSONB(none_as_null=True)))


def downgrade() -> None:
    op.drop_column("job", "calibration_prior")
