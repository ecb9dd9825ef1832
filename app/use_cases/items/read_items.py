"""Read the items of a job, and one item with its answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from app.domain.answer import Answer
from app.domain.item import Item, ItemState
from app.domain.job import Job
from app.errors import AnswerKindWrong, FieldError, ItemUnknown, LabelUnknown, shortened
from app.store.answers import answers_on_items
from app.store.items import load_items, page_of_items
from app.store.jobs import load_job
from app.use_cases.work.judging import ItemFacts, context_of, state_of


@dataclass(frozen=True)
class ItemPage:
    job: Job
    items: Sequence[Item]
    next_after: int | None  # where the next page starts; None on the last page


@dataclass(frozen=True)
class ItemWithAnswers:
    """An item with all its answers and the probabilities of its labels."""

    job: Job
    item: Item
    chances: Sequence[float]  # of each label; empty where answers are numbers
    answers: Sequence[Answer]


async def read_items(
    database: AsyncEngine, job_id: UUID, *, state: ItemState | None, label: str | None, after: int, most: int
) -> ItemPage:
    """Load a page of items in the order in which they were added: all, or those in a state or with a final label."""
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
        number = None if label is None else label_number(job, label, "?label")
        found = await page_of_items(connection, job_id, state=state, label=number, after=after, most=most + 1)
    page, more = found[:most], found[most:]
    return ItemPage(job, page, page[-1].item_id if more else None)


def label_number(job: Job, label: str, pointer: str) -> int:
    """Return the position of a label among those of the job; raises with the labels of the job if it is none."""
    if not job.policy.answer.is_one_label:
        message = "Must be left out: a result of this job is not one label"
        raise AnswerKindWrong(
            f"An answer of this job is {job.policy.answer.takes_words}.", errors=(FieldError(pointer, message),)
        )
    if label in job.policy.labels:
        return job.policy.labels.index(label)
    choices = ", ".join(repr(known) for known in job.policy.labels[:20])
    message = f"Must be one of {choices}"
    raise LabelUnknown(f"{shortened(label)} is not a label of this job.", errors=(FieldError(pointer, message),))


async def read_item(database: AsyncEngine, job_id: UUID, key: str) -> ItemWithAnswers:
    """Load an item by its key, with its answers in the order in which they arrived."""
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
        found = [] if "\x00" in key else await load_items(connection, job_id, keys=[key], item_ids=())
        if not found:
            raise ItemUnknown(f"The job has no item {key!r}. GET /v1/jobs/{job_id}/items lists its items.")
        answers = await answers_on_items(connection, job_id, [found[0].item_id])
    engine = job.engine
    lookahead = engine.lookahead(state_of([found[0].decision]), context_of(engine, [ItemFacts.of(found[0])]))
    return ItemWithAnswers(job, found[0], job.policy.answer.chances(lookahead.now)[0].tolist(), answers)
