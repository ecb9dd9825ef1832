"""Name the facts of stored forecasts by the words of the API."""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_RENAMED = {"level": "interval_probability", "sample": "simulated_items", "cut_off": "truncated"}
_STORED = (("job", "forecast", "true"), ("operation", "outcome", "kind = 'forecast'"))
_RENAME = """
    UPDATE {table} SET {column} = {column} - '{old}' || jsonb_build_object('{new}', {column} -> '{old}')
    WHERE {column} ? '{old}' AND {only}"""


def upgrade() -> None:
    for old, new in _RENAMED.items():
        _rename(old, new)


def downgrade() -> None:
    for old, new in _RENAMED.items():
        _rename(new, old)


def _rename(old: str, new: str) -> None:
    for table, column, only in _STORED:
        op.execute(_RENAME.format(table=table, column=column, only=only, old=old, new=new))
