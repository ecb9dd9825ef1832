"""Tell workers apart: what each has done, who is blocked, who is gold, and long work that can be watched."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB, REAL

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_PROMISE = (
    "power(greatest(2::double precision * CASE WHEN decided = 0 THEN 2::double precision ELSE "
    "agreed::double precision / decided::double precision + 1::double precision / sqrt(decided::double precision) "
    "END - 1::double precision, 0::double precision), 2::double precision) "
    "/ greatest(price::double precision, 0.000000001::double precision)"
)
_OF_WORKERS = (
    sa.Column("registered", sa.Boolean(), server_default=sa.false(), nullable=False),
    sa.Column("tier", sa.Text()),
    sa.Column("accuracy", sa.Double()),
    sa.Column("carried", sa.ARRAY(sa.Double())),
    *(
        sa.Column(name, sa.BigInteger(), server_default=sa.text("0"), nullable=False)
        for name in ("answers", "decided", "agreed", "gold_asked", "gold_right")
    ),
    sa.Column("seconds", sa.ARRAY(REAL()), server_default=sa.text("'{}'"), nullable=False),
    sa.Column("status", sa.Text(), server_default=sa.text("'active'"), nullable=False),
    sa.Column("block", JSONB()),
    sa.Column("promise", sa.Double(), sa.Computed(_PROMISE, persisted=True)),
)
_OF_JOBS = (
    sa.Column("stage", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
    sa.Column("stage_choice", JSONB()),
    sa.Column("refit_at", sa.BigInteger()),
    sa.Column("operations", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
    sa.Column("gold_items", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
)
_CHECKS = {
    "status_is_known": "status IN ('active', 'blocked')",
    "blocked_for_a_reason": "(status = 'blocked') = (block IS NOT NULL)",
    "answers_add_up": "0 <= agreed AND agreed <= decided AND decided <= answers",
    "gold_adds_up": "0 <= gold_right AND gold_right <= gold_asked",
}
# A vote is held to the label of its item only where the label would lead without it.
_COUNT_WHAT_WAS = """
    INSERT INTO worker (job_id, worker, answers, decided, agreed)
    SELECT a.job_id, a.worker, count(*), count(*) FILTER (WHERE held), count(*) FILTER (WHERE held AND right_label)
    FROM answer a
    JOIN item i USING (job_id, item_id)
    CROSS JOIN LATERAL (SELECT a.label = i.label AS right_label) AS same
    CROSS JOIN LATERAL (SELECT i.state = 'resolved' AND a.counted AND (
        NOT right_label OR i.votes[i.label + 1] - 1 > coalesce(
            (SELECT max(vote) FROM unnest(i.votes) WITH ORDINALITY AS other (vote, place) WHERE place <> i.label + 1), 0
        )) AS held) AS judged
    WHERE a.worker IS NOT NULL
    GROUP BY a.job_id, a.worker
    ON CONFLICT (job_id, worker) DO UPDATE
    SET answers = excluded.answers, decided = excluded.decided, agreed = excluded.agreed"""

# An item whose label is known needs no more work.
_COUNT_KNOWN_ITEMS = """
    UPDATE job SET resolved = resolved + known.items, progress = progress + known.missing
    FROM (SELECT job_id, count(*) AS items, sum(1 - progress) AS missing FROM item
          WHERE gold IS NOT NULL AND state = 'open' GROUP BY job_id) AS known
    WHERE known.job_id = job.job_id"""
_CLOSE_KNOWN_ITEMS = """
    UPDATE item SET state = 'resolved', label = gold, wanted = 0, progress = 1, confidence = 1,
        reason = '{"code": "gold", "message": "the right label was known from the start"}'
    WHERE gold IS NOT NULL AND state = 'open'"""


def upgrade() -> None:
    op.create_table(
        "operation",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("operation_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("progress", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("outcome", JSONB()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.CheckConstraint(
            "state IN ('waiting', 'running', 'done', 'failed')", name=op.f("ck_operation_state_is_known")
        ),
        sa.CheckConstraint("0 <= progress AND progress <= 1", name=op.f("ck_operation_progress_is_a_share")),
        sa.ForeignKeyConstraint(["job_id"], ["job.job_id"], name=op.f("fk_operation_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "operation_id", name=op.f("pk_operation")),
    )
    unfinished = sa.text("state IN ('waiting', 'running')")
    op.create_index("ix_operation_unfinished", "operation", ["job_id"], postgresql_where=unfinished)
    op.add_column("answer", sa.Column("withheld", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_index("ix_answer_by_worker", "answer", ["job_id", "worker", "answer_id"])
    op.add_column("item", sa.Column("promoted", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_index("ix_item_gold", "item", ["job_id", "tie_break"], postgresql_where=sa.text("gold IS NOT NULL"))
    for column in _OF_JOBS:
        op.add_column("job", column)
    for column in _OF_WORKERS:
        op.add_column("worker", column)
    for name, condition in _CHECKS.items():
        op.create_check_constraint(name, "worker", condition)
    op.execute("UPDATE worker SET registered = true")  # so far they were there because somebody had set a price, ...
    op.execute(_COUNT_WHAT_WAS)  # ... or because they had answered
    op.execute(_COUNT_KNOWN_ITEMS)
    op.execute(_CLOSE_KNOWN_ITEMS)
    op.execute(
        "UPDATE job SET gold_items = found.items FROM (SELECT job_id, count(*) AS items FROM item "
        "WHERE gold IS NOT NULL GROUP BY job_id) AS found WHERE found.job_id = job.job_id"
    )
    op.create_index(
        "ix_worker_promise",
        "worker",
        ["job_id", sa.text("promise DESC"), "worker"],
        postgresql_where=sa.text("registered AND status = 'active'"),
    )


def downgrade() -> None:
    op.drop_index("ix_worker_promise", table_name="worker")
    for name in _CHECKS:
        op.drop_constraint(f"ck_worker_{name}", "worker")
    for column in reversed(_OF_WORKERS):
        op.drop_column("worker", column.name)
    for column in _OF_JOBS:
        op.drop_column("job", column.name)
    op.drop_index("ix_item_gold", table_name="item")
    op.drop_column("item", "promoted")
    op.drop_index("ix_answer_by_worker", table_name="answer")
    op.drop_column("answer", "withheld")
    op.drop_index("ix_operation_unfinished", table_name="operation")
    op.drop_table("operation")
