"""Draft a migration: compare the tables with a fresh database that has all migrations so far."""

import sys
import tempfile
from pathlib import Path

from alembic import command

from app.store.connection import alembic_config, migrate
from app.store.embedded import embedded_postgres

with tempfile.TemporaryDirectory() as folder, embedded_postgres(Path(folder)) as url:
    migrate(url)
    config = alembic_config(url)
    number = len(list((Path(__file__).parent / "versions").glob("*.py"))) + 1
    command.revision(config, message=sys.argv[1], autogenerate=True, rev_id=f"{number:04d}")
