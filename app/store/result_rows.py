"""Result rows: the columns of items that a result shows, for many items."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.item import ItemState

_PAGE = """
    SELECT item_id, key, state, votes, label, confidence, reason ->> 'code' AS code, reason ->> 'message' AS message,
        {model_state} AS model_state, {prior} AS prior, {feature_opinion} AS feature_opinion
    FROM item WHERE job_id = $1 AND item_id > $2 AND item_id <= $3 {only} ORDER BY item_id LIMIT {most}
"""
_PRIOR = "CASE WHEN NOT prior_answered THEN prior END"


class ResultRow(NamedTuple):
    """The columns of `page_of_result_rows`. The driver's records are read by position, which is faster for millions."""

    item_id: int
    key: str
    state: str
    votes: Sequence[int]
    label: int | None
    confidence: float
    code: str
    message: str
    model_state: Sequence[float] | None  # None unless `with_model_state`
    prior: Sequence[float] | None  # None unless `with_model_state` and it counts
    feature_opinion: Sequence[float] | None  # None unless `with_model_state`


async def page_of_result_rows(
    connection: AsyncConnection,
    job_id: UUID,
    *,
    state: ItemState | None,
    after: int,
    until: int,
    most: int,
    with_model_state: bool,
) -> Sequence[ResultRow]:
    """Load the result rows after `after` and up to `until`, in the order in which the items were added."""
    driver = (await connection.get_raw_connection()).driver_connection
    assert driver is not None  # noqa: S101  the connection is open
    # Literals, so that the planner uses the index of the open items and reads no more than a page.
    only = "" if state is None else f"AND state = '{ItemState(state).value}'"
    columns = {"model_state": "model_state", "prior": _PRIOR, "feature_opinion": "feature_opinion"}
    query = _PAGE.format(only=only, most=int(most), **(columns if with_model_state else dict.fromkeys(columns, "NULL")))
    # The driver's own records: SQLAlchemy's rows take twice as long, on the event loop.
    found: Sequence[ResultRow] = await driver.fetch(query, job_id, after, until)
    return found
