"""Keep one number per class of an item, because the default's items no longer have degrees of clarity, and the dissent.

Until now the state of an item held log P(class, degree) for five degrees, all of a class together, or log P(class)
alone. Calibrations are of the former confidence, so they are dropped, and a refit is due that learns them again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

# The sum over a class's degrees; below -700, exp() is 0 anyway, and PostgreSQL would refuse it as an underflow.
_SUM_DEGREES = """
    UPDATE item SET model_state = (
        SELECT array_agg(log_probability ORDER BY class) FROM (
            SELECT (place - 1) / 5 AS class,
                   max(value) + ln(sum(exp(greatest(value - highest, -700)))) AS log_probability
            FROM (SELECT place, value, max(value) OVER (PARTITION BY (place - 1) / 5) AS highest
                  FROM unnest(model_state) WITH ORDINALITY AS kept (value, place)) AS degrees
            GROUP BY class) AS classes)
    FROM job
    WHERE job.job_id = item.job_id AND job.policy -> 'worker_model' ->> 'kind' = 'auto'
        AND cardinality(model_state) = 5 * cardinality(votes)"""
_DISSENT = """
    UPDATE job SET dissent_sum = found.dissent
    FROM (SELECT job_id, sum(ln(1 + (SELECT sum(vote) FROM unnest(votes) AS vote) - votes[label + 1])) AS dissent
          FROM item WHERE state = 'resolved' AND (gold IS NULL OR promoted) GROUP BY job_id) AS found
    WHERE job.job_id = found.job_id"""
_REFIT = """
    UPDATE job SET calibration = NULL, refit_at = least(refit_at, answers)
    WHERE calibration IS NOT NULL OR (policy -> 'worker_model' ->> 'kind' = 'auto' AND items > resolved + given_up)"""


def upgrade() -> None:
    op.execute(_SUM_DEGREES)
    op.add_column("job", sa.Column("dissent_sum", sa.Double(), nullable=False, server_default=sa.text("0")))
    op.execute(_DISSENT)
    op.execute(_REFIT)


def downgrade() -> None:
    """The former model reads log P(class) alone, too."""
    op.drop_column("job", "dissent_sum")
    op.execute(_REFIT)
