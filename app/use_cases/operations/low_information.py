"""Find workers whose answers carry so little information that the job should ask others."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.job import Job
from app.policy.core.belief import Index
from app.policy.quality.fitting import Fit
from app.policy.worker_choice.relative_information import low_information_reason
from app.store.job_history import History
from app.store.jobs import lock_job
from app.store.workers import save_low_information


@dataclass(frozen=True)
class LowInformation:
    """What a refit has found out about a low-information worker."""

    information_share: float  # information per cost of an answer, at best, relative to the job's average
    answers: int

    def as_json(self, since: datetime) -> dict[str, Any]:
        """Return the JSON that is stored with the worker."""
        return {
            "reason": low_information_reason(self.information_share, self.answers).as_json(),
            "information_share": self.information_share,
            "since": since.isoformat(),
        }


def find_low_information(history: History, fit: Fit, answers: Index) -> dict[str, LowInformation]:
    """Find the low-information workers by a fit; unnamed workers are left out, because nobody can recognise them."""
    engine, skill = history.job.reconfigured(stage=fit.stage).engine, fit.refitted.skill
    price = np.concatenate([history.price, np.ones(len(answers) - len(history.crowd))])
    found = np.flatnonzero(engine.low_information(skill, price, answers)[: len(history.crowd)])
    if not len(found):
        return {}
    share = engine.information_of_workers(skill, price, answers)
    return {history.crowd[row]: LowInformation(float(share[row]), int(answers[row])) for row in found.tolist()}


async def give_no_new_work(
    connection: AsyncConnection, job: Job, found: Mapping[str, LowInformation], now: datetime
) -> int:
    """Mark these workers, and no others, as low-information; returns how many were marked.

    A job that chooses its workers itself does not need this.
    """
    if not job.policy.worker_choice.marks_low_information:
        return 0
    async with connection.begin():
        await lock_job(connection, job.job_id)
        return await save_low_information(
            connection, job.job_id, {name: one.as_json(now) for name, one in found.items()}
        )
