"""Add audits, trusted workers, and what the job row says about how far its labels can be trusted."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_ZERO = sa.text("0")
# Labels that were made before this migration; gold that the requester gave is not one of them.
_LABELED = """
    UPDATE job SET labeled = found.labeled, label_changes = found.labeled, confidence_sum = found.confidence
    FROM (SELECT job_id, count(*) AS labeled, sum(confidence) AS confidence FROM item
          WHERE state = 'resolved' AND (gold IS NULL OR promoted) GROUP BY job_id) AS found
    WHERE job.job_id = found.job_id"""


def upgrade() -> None:
    op.add_column("worker", sa.Column("trusted", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("assignment", sa.Column("audit_id", sa.BigInteger()))
    for name in ("audits", "labeled", "label_changes"):
        op.add_column("job", sa.Column(name, sa.BigInteger(), nullable=False, server_default=_ZERO))
    op.add_column("job", sa.Column("confidence_sum", sa.Double(), nullable=False, server_default=_ZERO))
    op.add_column("job", sa.Column("audit", JSONB(none_as_null=True)))
    op.execute(_LABELED)
    op.create_table(
        "audit",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("audit_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("min_accuracy", sa.Double(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.Column("max_items", sa.Integer(), nullable=False),
        sa.Column("population", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("label_changes", sa.BigInteger(), nullable=False),
        sa.Column("checked", sa.Integer(), nullable=False, server_default=_ZERO),
        sa.Column("correct", sa.Integer(), nullable=False, server_default=_ZERO),
        sa.Column("accuracy", JSONB(none_as_null=True)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("job_id", "audit_id", name="pk_audit"),
        sa.ForeignKeyConstraint(["job_id"], ["job.job_id"], name="fk_audit_job", ondelete="CASCADE"),
        sa.CheckConstraint("state IN ('running', 'proven', 'refuted', 'exhausted')", name="ck_audit_state_is_known"),
        sa.CheckConstraint("0 <= correct AND correct <= checked", name="ck_audit_checks_add_up"),
    )
    op.create_index("ix_audit_running", "audit", ["job_id"], unique=True, postgresql_where=sa.text("state = 'running'"))
    op.create_table(
        "audit_item",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("audit_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("item_id", sa.BigInteger(), nullable=False),
        sa.Column("label", sa.SmallInteger(), nullable=False),
        sa.Column("answer", sa.SmallInteger()),
        sa.Column("worker", sa.Text()),
        sa.Column("answered_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("job_id", "audit_id", "position", name="pk_audit_item"),
        sa.UniqueConstraint("job_id", "audit_id", "item_id", name="uq_audit_item_job_id_audit_id_item_id"),
        sa.ForeignKeyConstraint(
            ["job_id", "audit_id"], ["audit.job_id", "audit.audit_id"], name="fk_audit_item_audit", ondelete="CASCADE"
        ),
    )


def downgrade() -> None:
    op.drop_table("audit_item")
    op.drop_table("audit")
    for name in ("audit", "confidence_sum", "label_changes", "labeled", "audits"):
        op.drop_column("job", name)
    op.drop_column("assignment", "audit_id")
    op.drop_column("worker", "trusted")
