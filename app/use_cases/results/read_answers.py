"""List a job's answers in the order in which they arrived."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from app.domain.answer import ALL_ANSWERS, AnswerFilter, AnswerRecord
from app.domain.job import Job
from app.errors import ItemUnknown
from app.store.answers import page_of_answers
from app.store.items import find_item
from app.store.jobs import load_job

_ROWS = 2000  # per page when all answers are read


@dataclass(frozen=True)
class AnswerPage:
    answers: Sequence[AnswerRecord]
    next_after: int | None  # where the next page starts; None on the last page


@dataclass(frozen=True)
class AnswerSet:
    """The answers that the job has when the set is opened, without later ones."""

    database: AsyncEngine
    job: Job
    only: AnswerFilter = ALL_ANSWERS

    async def page(self, after: int, most: int) -> AnswerPage:
        """Load up to `most` answers after `after`."""
        async with self.database.connect() as connection:
            await load_job(connection, self.job.job_id)  # raises if the job was deleted, which ends an export
            found = await page_of_answers(
                connection,
                self.job.job_id,
                after=after,
                until=self.job.answers,
                most=most + 1,
                only=self.only,
                in_time=not self.job.imported,
            )
        page, more = found[:most], found[most:]
        return AnswerPage(page, page[-1].answer_id if more else None)

    async def pages(self) -> AsyncIterator[Sequence[AnswerRecord]]:
        """Yield all answers; at least one page, which may be empty."""
        following: int | None = 0
        while following is not None:
            page = await self.page(following, _ROWS)
            yield page.answers
            following = page.next_after


async def open_answers(
    database: AsyncEngine, job_id: UUID, *, item: str | None = None, only: AnswerFilter = ALL_ANSWERS
) -> AnswerSet:
    """Open the answers that a job has now: all, or those of a filter, such as those to one item."""
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
        if item is not None:
            found = None if "\x00" in item else await find_item(connection, job_id, item)
            if found is None:
                raise ItemUnknown(f"The job has no item {item!r}. GET /v1/jobs/{job_id}/items lists its items.")
            only = replace(only, item_id=found.item.item_id)
    return AnswerSet(database, job, only)
