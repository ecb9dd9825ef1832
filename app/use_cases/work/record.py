"""Record answers: check them, pay for them, count the votes, and decide about the items."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.job import Job
from app.errors import SufficeError
from app.use_cases.audits.audit_ledger import write_checks
from app.use_cases.work.entering import Outcome
from app.use_cases.work.ledger import Ledger, SubmittedAnswer, Vote, open_ledger, write_back
from app.use_cases.work.truths import recorder_of_truth
from app.use_cases.work.vote_batch import VoteBatch
from app.use_cases.workers.blocking import block_guessers

# Answers times labels that are recorded on the event loop if no skills are learned: a few milliseconds. More labels
# take more time per answer: 100 answers with as many labels took 0.6 s of it.
_MOST_ON_LOOP = 256


async def record_answers(
    connection: AsyncConnection, job: Job, sent: Sequence[Sequence[SubmittedAnswer]], now: datetime
) -> tuple[Job, list[list[Outcome]]]:
    """Record the answers of each request in their order; a refused answer does not affect the others."""
    ledger = await open_ledger(connection, job, [submission for one in sent for submission in one], now)
    submissions = [submission for request in sent for submission in request]
    if len(submissions) * len(job.policy.labels) <= _MOST_ON_LOOP and not ledger.newcomer.size:
        outcomes = iter(_record_all(ledger, submissions))
    else:
        outcomes = iter(await asyncio.to_thread(_record_all, ledger, submissions))
    scores = await write_back(connection, ledger)
    job = ledger.balanced()
    if ledger.audits.new:
        job = await write_checks(connection, job, ledger.audits, now)
    if scores and job.policy.spammers is not None:
        job = await block_guessers(connection, job, scores, now)
    return job, [[next(outcomes) for _ in request] for request in sent]


def _record_all(ledger: Ledger, submissions: Sequence[SubmittedAnswer]) -> list[Outcome]:
    """Find what the answers are about, and settle them: many votes at once, and answers that are the truth one by one.

    Money never refuses an answer if it covers all of them. Otherwise it depends on which earlier ones it has paid.
    """
    outcomes, votes = _found(ledger, submissions)
    one_by_item = ledger.job.engine.scores_finished_items or not _covers(ledger, [vote for _, vote in votes])
    batch = VoteBatch(ledger, one_by_item)
    for position, vote in votes:
        truth = ledger.may_be_truth(vote)
        if batch.conflicts_with(vote) or (truth and vote.item.item_id in batch.items):
            outcomes |= batch.settle()
            batch = VoteBatch(ledger, one_by_item)
        if truth:
            now = replace(vote, item=ledger.items[vote.item.item_id])
            record_truth = None if vote.key in ledger.answers else recorder_of_truth(ledger, now)
            if record_truth is not None:
                outcomes |= batch.settle()  # answers are numbered in their order
                batch = VoteBatch(ledger, one_by_item)
                try:
                    outcomes[position] = record_truth(ledger, now)
                except SufficeError as refusal:
                    outcomes[position] = refusal
                continue
        batch.add(position, vote)
    outcomes |= batch.settle()
    return [outcomes[position] for position in range(len(submissions))]


def _found(ledger: Ledger, submissions: Sequence[SubmittedAnswer]) -> tuple[dict[int, Outcome], list[tuple[int, Vote]]]:
    """Find the vote of each submission, with its position; and refuse those that are about nothing."""
    refused: dict[int, Outcome] = {}
    votes = []
    for position, submission in enumerate(submissions):
        try:
            votes.append((position, ledger.find_vote(submission)))
        except SufficeError as refusal:
            refused[position] = refusal
    return refused, votes


def _covers(ledger: Ledger, votes: Sequence[Vote]) -> bool:
    """Whether the budget covers all of these votes, whichever of them are accepted."""
    if ledger.remaining is None:
        return True
    return sum((vote.cost for vote in votes if not vote.under_live_assignment), Decimal()) <= ledger.remaining
