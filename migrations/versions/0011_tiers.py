"""Keep the tier of an item apart from its priority.

Jobs that look for guessers and finish begun items first had this order inside the priority: begun items times 1e12, and
fresh items of allocations that only rank items less 1e12. Here the priority becomes the value itself, and the tier says
what comes first. A priority has twelve significant digits, so that the division in decimals is exact. Where 1e12 was
subtracted the digits of the value are lost: those fresh items get priority 0 until they are judged again, and ties
between them are decided as before, by `tie_break`.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_OPEN = "state = 'open' AND open_assignments < max_open_assignments"
_UP = """
    UPDATE item SET
        tier = CASE WHEN priority > 0 THEN 0 ELSE 2 END + CASE WHEN 0 < ANY (votes) THEN 0 ELSE 1 END,
        priority = CASE
            WHEN priority > 0 AND 0 < ANY (votes) THEN (priority::numeric / 1000000000000)::double precision
            WHEN priority <= 0 AND NOT 0 < ANY (votes) THEN 0
            ELSE priority END
    FROM job WHERE job.job_id = item.job_id AND item.state = 'open'
        AND (job.policy::jsonb -> 'spammers' ->> 'finish_first') = 'true'"""
_DOWN = """
    UPDATE item SET priority = CASE tier
        WHEN 0 THEN (priority::numeric * 1000000000000)::double precision
        WHEN 3 THEN priority - 1000000000000
        ELSE priority END
    FROM job WHERE job.job_id = item.job_id AND item.state = 'open'
        AND (job.policy::jsonb -> 'spammers' ->> 'finish_first') = 'true'"""


def upgrade() -> None:
    op.add_column("item", sa.Column("tier", sa.SmallInteger(), nullable=False, server_default=sa.text("0")))
    op.execute(_UP)
    op.drop_index("ix_item_queue", table_name="item")
    op.create_index(
        "ix_item_queue",
        "item",
        ["job_id", "tier", sa.text("priority DESC"), "tie_break"],
        postgresql_where=sa.text(_OPEN),
    )


def downgrade() -> None:
    op.drop_index("ix_item_queue", table_name="item")
    op.execute(_DOWN)
    op.create_index(
        "ix_item_queue", "item", ["job_id", sa.text("priority DESC"), "tie_break"], postgresql_where=sa.text(_OPEN)
    )
    op.drop_column("item", "tier")
