"""Outcomes: of many items, only the columns that a result shows."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import ItemState

_OUTCOMES = """
    SELECT item_id, key, state, votes, label, confidence, reason ->> 'code' AS code, reason ->> 'message' AS message,
        {evidence} AS evidence, {prior} AS prior
    FROM item WHERE job_id = $1 AND item_id > $2 AND item_id <= $3 {only} ORDER BY item_id LIMIT {most}
"""


class Outcome(NamedTuple):
    """The columns of `page_of_outcomes`; a record of the driver is read by position, for a million are."""

    item_id: int
    key: str
    state: str
    votes: Sequence[int]
    label: int | None
    confidence: float
    code: str
    message: str
    evidence: Sequence[float] | None  # the worker model's affair; None where nobody asked for it
    prior: Sequence[float] | None  # same


async def page_of_outcomes(
    connection: AsyncConnection,
    job_id: UUID,
    *,
    state: ItemState | None,
    after: int,
    until: int,
    most: int,
    with_evidence: bool,
) -> Sequence[Outcome]:
    """Outcomes in the order in which the items were added, from behind `after` to `until`."""
    driver = (await connection.get_raw_connection()).driver_connection
    assert driver is not None  # noqa: S101  the connection is open
    # Literals, so that the planner recognises the index of the open items and reads no more than a page.
    only = "" if state is None else f"AND state = '{ItemState(state).value}'"
    evidence, prior = ("evidence", "prior") if with_evidence else ("NULL", "NULL")
    query = _OUTCOMES.format(only=only, most=int(most), evidence=evidence, prior=prior)
    # The driver's own records: SQLAlchemy's rows of the same columns take twice as long, and on the event loop.
    found: Sequence[Outcome] = await driver.fetch(query, job_id, after, until)
    return found
