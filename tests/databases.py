"""Further databases on the PostgreSQL server of a test run."""

import asyncpg
from sqlalchemy.engine import make_url


async def create_database(beside: str, name: str, template: str | None = None) -> str:
    """Create a database on the same server, empty or as a copy of one to which nobody is connected; give its URL."""
    elsewhere = make_url(beside).set(database="template1").render_as_string(hide_password=False)
    connection = await asyncpg.connect(elsewhere)
    try:
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE {template or 'template0'}")
    finally:
        await connection.close()
    return make_url(beside).set(database=name).render_as_string(hide_password=False)
