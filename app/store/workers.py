"""Workers: what they charge, and what their answers have taught about them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.driver import fetch


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker of a job; one who is not registered costs what the item costs."""

    skill: Sequence[float] | None = None
    price: Decimal = Decimal(1)


STRANGER = Worker()


_LOAD = "SELECT worker, skill, price FROM worker WHERE job_id = $1 AND worker = ANY ($2::text[])"
_SAVE_PRICES = """
    INSERT INTO worker (job_id, worker, price)
    SELECT $1, sent.worker, sent.price FROM unnest($2::text[], $3::numeric[]) AS sent (worker, price)
    ON CONFLICT (job_id, worker) DO UPDATE SET price = excluded.price"""
_PAGE = "SELECT worker, skill, price FROM worker WHERE job_id = $1 AND worker > $2 ORDER BY worker LIMIT $3"


async def load_workers(connection: AsyncConnection, job_id: UUID, names: Collection[str]) -> dict[str, Worker]:
    """Those of these workers of whom something is known."""
    rows = await fetch(connection, _LOAD, job_id, list(names)) if names else []
    return {row["worker"]: Worker(row["skill"], row["price"]) for row in rows}


async def save_prices(connection: AsyncConnection, job_id: UUID, prices: Mapping[str, Decimal]) -> None:
    await fetch(connection, _SAVE_PRICES, job_id, list(prices), list(prices.values()))


async def page_of_workers(
    connection: AsyncConnection, job_id: UUID, *, after: str, most: int
) -> list[tuple[str, Worker]]:
    """Workers by name, from behind `after`."""
    rows = await fetch(connection, _PAGE, job_id, after, most)
    return [(row["worker"], Worker(row["skill"], row["price"])) for row in rows]
