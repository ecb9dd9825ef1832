"""Name columns by the words of the API: one word per thing."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_RENAMED = {
    "job": {"rules": "policy", "leases": "assignments"},
    "item": {"evidence": "model_state", "wanted": "max_open_assignments", "in_flight": "open_assignments"},
    "worker": {
        "decided": "scored_answers",
        "agreed": "agreed_answers",
        "copies": "copying_probability",
        "away": "low_information",
        "promise": "ucb_score",
    },
}


def upgrade() -> None:
    for table, columns in _RENAMED.items():
        for old, new in columns.items():
            op.alter_column(table, old, new_column_name=new)
    op.execute("ALTER INDEX ix_worker_promise RENAME TO ix_worker_ucb_score")


def downgrade() -> None:
    op.execute("ALTER INDEX ix_worker_ucb_score RENAME TO ix_worker_promise")
    for table, columns in _RENAMED.items():
        for old, new in columns.items():
            op.alter_column(table, new, new_column_name=old)
