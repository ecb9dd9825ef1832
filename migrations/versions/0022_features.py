"""Keep what the features of items say about them, and one entry for each source of opinions."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.alter_column("job", "source", new_column_name="sources")
    op.execute("UPDATE job SET sources = jsonb_build_array(sources) WHERE sources IS NOT NULL")
    op.add_column("job", sa.Column("feature_length", sa.Integer()))
    op.add_column("item", sa.Column("feature_opinion", sa.ARRAY(sa.Double())))
    op.create_index("ix_item_features", "item", ["job_id", "item_id"], postgresql_where=sa.text("features IS NOT NULL"))


def downgrade() -> None:
    op.drop_index("ix_item_features", table_name="item")
    op.drop_column("item", "feature_opinion")
    op.drop_column("job", "feature_length")
    op.execute("UPDATE job SET sources = sources -> 0 WHERE sources IS NOT NULL")
    op.alter_column("job", "sources", new_column_name="source")
