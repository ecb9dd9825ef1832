"""List what was answered, in the order in which it came."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from app.store.answers import Given, page_of_answers
from app.store.jobs import Job, load_job

_ROWS = 2000  # at a time, where all are wanted


@dataclass(frozen=True)
class AnswerPage:
    answers: Sequence[Given]
    next_after: int | None  # where the next page starts; None on the last one


@dataclass(frozen=True)
class AnswerSet:
    """The answers that the job has when the set is opened; those that come later are not in it."""

    database: AsyncEngine
    job: Job

    async def page(self, after: int, most: int) -> AnswerPage:
        async with self.database.connect() as connection:
            await load_job(connection, self.job.job_id)  # the set of a job that is gone does not end, it breaks off
            found = await page_of_answers(
                connection, self.job.job_id, after=after, until=self.job.answers, most=most + 1
            )
        page, more = found[:most], found[most:]
        return AnswerPage(page, page[-1].answer_id if more else None)

    async def pages(self) -> AsyncIterator[Sequence[Given]]:
        """All answers: at least one page, be it empty."""
        following: int | None = 0
        while following is not None:
            page = await self.page(following, _ROWS)
            yield page.answers
            following = page.next_after


async def open_answers(database: AsyncEngine, job_id: UUID) -> AnswerSet:
    async with database.connect() as connection:
        return AnswerSet(database, await load_job(connection, job_id))
