"""Check whether the database answers, and whether its schema is the one that the code needs."""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncEngine

from app.store.connection import LOST, current_revision, head_revision, is_lost

DATABASE_ERRORS = LOST  # may mean that the database does not answer; see `is_database_lost`


def is_database_lost(error: Exception) -> bool:
    """Whether the error means that the database does not answer at the moment."""
    return is_lost(error)


@dataclass(frozen=True)
class SchemaRevision:
    """The revision of the database's schema, and the one that the code needs."""

    found: str | None
    needed: str | None


async def read_schema_revision(database: AsyncEngine) -> SchemaRevision:
    return SchemaRevision(found=await current_revision(database), needed=head_revision())
