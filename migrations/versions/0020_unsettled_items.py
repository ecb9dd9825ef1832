"""Let trusted workers find the items that the crowd cannot settle."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_item_unsettled",
        "item",
        ["job_id", "cost", "item_id"],
        postgresql_where=sa.text("state = 'given_up' AND reason ->> 'code' = 'crowd-cannot-reach'"),
    )


def downgrade() -> None:
    op.drop_index("ix_item_unsettled", table_name="item")
