"""How the votes fell on a job's items, counted by the database."""

from math import ceil
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.driver import fetch

MOST_ITEMS = 100_000  # that are looked at

# Each item by its own key: the planner would rather read the whole table, of which a large job needs few rows.
_TWO_STRONGEST = """
    SELECT standing.strongest[1] AS first, coalesce(standing.strongest[2], 0) AS second, count(*) AS items
    FROM generate_series(1::bigint, $2::bigint, $3::bigint) AS chosen (item_id)
    CROSS JOIN LATERAL (
        SELECT (SELECT array_agg(vote ORDER BY vote DESC) FROM unnest(i.votes) AS vote) AS strongest
        FROM item i WHERE i.job_id = $1 AND i.item_id = chosen.item_id LIMIT 1
    ) AS standing
    GROUP BY 1, 2"""


async def two_strongest_classes(
    connection: AsyncConnection, job_id: UUID, items: int, most: int = MOST_ITEMS
) -> list[tuple[int, int, int]]:
    """(votes of the strongest class, of the second, items that stand so); of a large job, every so manieth item.

    Which items are looked at depends on their numbers alone, never on their votes.
    """
    step = max(1, ceil(items / most))
    rows = await fetch(connection, _TWO_STRONGEST, job_id, items, step)
    return [(row["first"], row["second"], row["items"]) for row in rows]
