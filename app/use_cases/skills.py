"""What a worker's skill amounts to."""

from collections.abc import Sequence

import numpy as np

from app.policy.belief import Array
from app.store.jobs import Job


def accuracies(job: Job, skills: Sequence[Sequence[float] | Array]) -> Sequence[float | None]:
    """How often workers of these skills are right; None where the job's model tells nothing of workers."""
    if not skills:
        return []
    found: list[float] = job.rules.worker_model.accuracy(np.array(skills)).tolist()
    return found
