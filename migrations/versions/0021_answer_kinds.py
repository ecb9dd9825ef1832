"""Keep answers that are several labels, as the bits of a number, or numbers."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_LABELS = (("answer", "label"), ("item", "label"), ("item", "gold"), ("audit_item", "label"), ("audit_item", "answer"))


def upgrade() -> None:
    for table, column in _LABELS:
        op.alter_column(table, column, type_=sa.BigInteger(), existing_type=sa.SmallInteger())
    op.add_column("answer", sa.Column("value", sa.Double()))
    op.add_column("item", sa.Column("gold_value", sa.Double()))


def downgrade() -> None:
    op.drop_column("item", "gold_value")
    op.drop_column("answer", "value")
    for table, column in _LABELS:
        op.alter_column(table, column, type_=sa.SmallInteger(), existing_type=sa.BigInteger())
