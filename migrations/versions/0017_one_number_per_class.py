"""Keep one number per class of an item: the default's items no longer have degrees of clarity.

Until now its state held log P(class, degree) for five degrees, all of a class together, or log P(class) alone.
Priorities and confidences of open items are those of the former model until the next refit judges them again.
"""

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


def upgrade() -> None:
    op.execute(_SUM_DEGREES)


def downgrade() -> None:
    """Nothing: the former model read log P(class) alone, too."""
