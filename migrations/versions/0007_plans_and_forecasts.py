"""Keep the plan that a job was made from, and its latest forecast, with the job."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job", sa.Column("plan", postgresql.JSONB()))
    op.add_column("job", sa.Column("forecast", postgresql.JSONB()))


def downgrade() -> None:
    op.drop_column("job", "forecast")
    op.drop_column("job", "plan")
