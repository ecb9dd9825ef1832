"""Create jobs, items, assignments, answers and workers."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "job",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("rules", sa.JSON(), nullable=False),
        sa.Column("lease_seconds", sa.Integer(), nullable=False),
        sa.Column("paused", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("budget", sa.Numeric(), nullable=True),
        sa.Column("spent", sa.Numeric(), server_default=sa.text("0"), nullable=False),
        sa.Column("reserved", sa.Numeric(), server_default=sa.text("0"), nullable=False),
        sa.Column("items", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("resolved", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("given_up", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("leases", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("answers", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("progress", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("inverse_costs", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("budget >= 0 AND budget < 'Infinity'", name=op.f("ck_job_budget_is_an_amount")),
        sa.CheckConstraint("lease_seconds > 0", name=op.f("ck_job_lease_lasts")),
        sa.CheckConstraint("leases >= 0 AND answers >= 0", name=op.f("ck_job_counts_are_not_negative")),
        sa.CheckConstraint(
            "resolved >= 0 AND given_up >= 0 AND resolved + given_up <= items", name=op.f("ck_job_items_add_up")
        ),
        sa.CheckConstraint("spent + reserved <= budget", name=op.f("ck_job_never_over_budget")),
        sa.CheckConstraint("spent >= 0 AND reserved >= 0", name=op.f("ck_job_money_is_not_negative")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_job")),
    )
    op.create_table(
        "item",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("item_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("payload", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("cost", sa.Numeric(), nullable=False),
        sa.Column("gold", sa.SmallInteger(), nullable=True),
        sa.Column("prior", sa.ARRAY(sa.Double()), nullable=True),
        sa.Column("features", sa.ARRAY(sa.Double()), nullable=True),
        sa.Column("state", sa.Text(), server_default=sa.text("'open'"), nullable=False),
        sa.Column("votes", sa.ARRAY(sa.Integer()), nullable=False),
        sa.Column("evidence", sa.ARRAY(sa.Double()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("priority", sa.Double(), nullable=False),
        sa.Column("tie_break", sa.BigInteger(), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("in_flight", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("label", sa.SmallInteger(), nullable=True),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.Column("progress", sa.Double(), nullable=False),
        sa.Column("reason", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.CheckConstraint("(state = 'resolved') = (label IS NOT NULL)", name=op.f("ck_item_resolved_has_a_label")),
        sa.CheckConstraint("cost > 0 AND cost < 'Infinity'", name=op.f("ck_item_cost_is_an_amount")),
        sa.CheckConstraint("state = 'open' OR wanted = 0", name=op.f("ck_item_closed_wants_nothing")),
        sa.CheckConstraint("state IN ('open', 'resolved', 'given_up')", name=op.f("ck_item_state_is_known")),
        sa.CheckConstraint("0 <= ALL (votes)", name=op.f("ck_item_votes_are_not_negative")),
        sa.CheckConstraint("wanted >= 0 AND in_flight >= 0", name=op.f("ck_item_counts_are_not_negative")),
        sa.ForeignKeyConstraint(["job_id"], ["job.job_id"], name=op.f("fk_item_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "item_id", name=op.f("pk_item")),
        sa.UniqueConstraint("job_id", "key", name=op.f("uq_item_job_id_key")),
    )
    op.create_index(
        "ix_item_open", "item", ["job_id", "item_id"], unique=False, postgresql_where=sa.text("state = 'open'")
    )
    op.create_index(
        "ix_item_queue",
        "item",
        ["job_id", sa.literal_column("priority DESC"), "tie_break"],
        unique=False,
        postgresql_where=sa.text("state = 'open' AND in_flight < wanted"),
    )
    op.create_table(
        "worker",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("skill", sa.ARRAY(sa.Double()), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.job_id"], name=op.f("fk_worker_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job_id", "worker", name=op.f("pk_worker")),
    )
    op.create_table(
        "answer",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("answer_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("item_id", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("assignment_id", sa.BigInteger(), nullable=True),
        sa.Column("label", sa.SmallInteger(), nullable=False),
        sa.Column("cost", sa.Numeric(), nullable=False),
        sa.Column("late", sa.Boolean(), nullable=False),
        sa.Column("counted", sa.Boolean(), nullable=False),
        sa.Column("verdict", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("cost >= 0", name=op.f("ck_answer_cost_is_not_negative")),
        sa.CheckConstraint("label >= 0", name=op.f("ck_answer_label_is_a_position")),
        sa.ForeignKeyConstraint(
            ["job_id", "item_id"], ["item.job_id", "item.item_id"], name=op.f("fk_answer_item"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "answer_id", name=op.f("pk_answer")),
        sa.UniqueConstraint("job_id", "assignment_id", name=op.f("uq_answer_job_id_assignment_id")),
        sa.UniqueConstraint("job_id", "item_id", "worker", name=op.f("uq_answer_job_id_item_id_worker")),
    )
    op.create_table(
        "assignment",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("assignment_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("item_id", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("cost", sa.Numeric(), nullable=False),
        sa.Column("leased_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("why", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.CheckConstraint(
            "state IN ('live', 'answered', 'expired', 'released', 'skipped')", name=op.f("ck_assignment_state_is_known")
        ),
        sa.CheckConstraint("cost >= 0", name=op.f("ck_assignment_cost_is_not_negative")),
        sa.CheckConstraint("expires_at > leased_at", name=op.f("ck_assignment_lease_lasts")),
        sa.ForeignKeyConstraint(
            ["job_id", "item_id"], ["item.job_id", "item.item_id"], name=op.f("fk_assignment_item"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "assignment_id", name=op.f("pk_assignment")),
        sa.UniqueConstraint("job_id", "item_id", "worker", name=op.f("uq_assignment_job_id_item_id_worker")),
    )
    op.create_index(
        "ix_assignment_live_by_expiry",
        "assignment",
        ["job_id", "expires_at"],
        unique=False,
        postgresql_where=sa.text("state = 'live'"),
    )
    op.create_index(
        "ix_assignment_live_by_worker",
        "assignment",
        ["job_id", "worker"],
        unique=False,
        postgresql_where=sa.text("state = 'live'"),
    )


def downgrade() -> None:
    op.drop_index("ix_assignment_live_by_worker", table_name="assignment", postgresql_where=sa.text("state = 'live'"))
    op.drop_index("ix_assignment_live_by_expiry", table_name="assignment", postgresql_where=sa.text("state = 'live'"))
    op.drop_table("assignment")
    op.drop_table("answer")
    op.drop_table("worker")
    op.drop_index("ix_item_queue", table_name="item", postgresql_where=sa.text("state = 'open' AND in_flight < wanted"))
    op.drop_index("ix_item_open", table_name="item", postgresql_where=sa.text("state = 'open'"))
    op.drop_table("item")
    op.drop_table("job")
