"""Count the votes of the two strongest classes of items, in the database."""

from math import ceil
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.driver import fetch

MOST_ITEMS = 100_000  # items that are read

# With a lateral join each item is read by its key; otherwise the planner reads the whole table.
_TWO_STRONGEST = """
    SELECT item_votes.strongest[1] AS first, coalesce(item_votes.strongest[2], 0) AS second, count(*) AS items
    FROM generate_series(1::bigint, $2::bigint, $3::bigint) AS chosen (item_id)
    CROSS JOIN LATERAL (
        SELECT (SELECT array_agg(vote ORDER BY vote DESC) FROM unnest(i.votes) AS vote) AS strongest
        FROM item i WHERE i.job_id = $1 AND i.item_id = chosen.item_id LIMIT 1
    ) AS item_votes
    GROUP BY 1, 2"""


async def two_strongest_classes(
    connection: AsyncConnection, job_id: UUID, items: int, most: int = MOST_ITEMS
) -> list[tuple[int, int, int]]:
    """Count items by (votes of the strongest class, votes of the second class, number of items).

    In a large job only every n-th item is read. The sample depends on item numbers alone, not on votes.
    """
    step = max(1, ceil(items / most))
    rows = await fetch(connection, _TWO_STRONGEST, job_id, items, step)
    return [(row["first"], row["second"], row["items"]) for row in rows]
