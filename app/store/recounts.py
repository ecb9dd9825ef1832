"""Remove votes from the counts, and put them back."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from asyncpg import Record
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.answer import voter_of
from app.domain.worker import Voter
from app.policy.answers import Said
from app.store.driver import fetch


@dataclass(frozen=True, slots=True)
class VoteRow:
    """The columns of an answer that a recount needs."""

    answer_id: int
    item_id: int
    voter: Voter
    said: Said
    counted: bool


# Answers of trusted workers that are truth were never votes. A late vote on a settled item has the item's reason, too.
_IS_VOTE = "(counted OR verdict -> 'reason' ->> 'code' NOT IN ('audit', 'settled-by-trusted'))"
_VOTES_OF_WORKER = f"""
    SELECT answer_id, item_id, worker, tier, label, value, counted FROM answer
    WHERE job_id = $1 AND worker = $2 AND {_IS_VOTE} AND answer_id > $3 AND ($4::boolean IS NULL OR withheld = $4)
    ORDER BY answer_id LIMIT $5"""
_VOTES_ON_ITEMS = f"""
    SELECT answer_id, item_id, worker, tier, label, value, counted FROM answer
    WHERE job_id = $1 AND item_id = ANY ($2::bigint[]) AND NOT withheld AND {_IS_VOTE} ORDER BY answer_id"""
_WITHHOLD = "UPDATE answer SET withheld = $3 WHERE job_id = $1 AND answer_id = ANY ($2::bigint[])"
_SAVE_COUNTED = """
    UPDATE answer a SET counted = sent.counted FROM unnest($2::bigint[], $3::boolean[]) AS sent (answer_id, counted)
    WHERE a.job_id = $1 AND a.answer_id = sent.answer_id AND a.answer_id = ANY ($2)"""


async def page_of_votes(
    connection: AsyncConnection, job_id: UUID, worker: str, *, withheld: bool | None, after: int, most: int
) -> list[VoteRow]:
    """Load a worker's answers after `after`, in the order of commit: all, only withheld ones, or only the others."""
    return [_vote_row(row) for row in await fetch(connection, _VOTES_OF_WORKER, job_id, worker, after, withheld, most)]


async def votes_on_items(connection: AsyncConnection, job_id: UUID, item_ids: Collection[int]) -> list[VoteRow]:
    """Load the answers on these items that are not withheld, in the order of commit."""
    return [_vote_row(row) for row in await fetch(connection, _VOTES_ON_ITEMS, job_id, list(item_ids))]


async def withhold(connection: AsyncConnection, job_id: UUID, answers: Collection[int], *, withheld: bool) -> None:
    """Remove these answers from all counts, or put them back."""
    await fetch(connection, _WITHHOLD, job_id, list(answers), withheld)


async def save_counted(connection: AsyncConnection, job_id: UUID, counted: Mapping[int, bool]) -> None:
    """Save whether each of these answers counts."""
    if counted:
        await fetch(connection, _SAVE_COUNTED, job_id, list(counted), list(counted.values()))


def _vote_row(row: Record) -> VoteRow:
    number, item, worker, tier, label, value, counted = row
    return VoteRow(number, item, voter_of(worker, tier), label if value is None else value, counted)
