"""What a worker's skill amounts to: how often the worker is right, and how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from app.policy.belief import Array
from app.policy.engine import Engine
from app.store.jobs import Job
from app.store.worker_pages import WorkerRow

_JEFFREYS = 0.5
_LOW, _HIGH = 0.025, 0.975


@dataclass(frozen=True, slots=True)
class Skill:
    """How often a worker is right, with a 95 % interval."""

    estimate: float
    low: float
    high: float


def tells_accuracy(job: Job) -> bool:
    """Whether the job's model says how often a worker is right; a weight, or nothing at all, is no accuracy."""
    newcomer = job.engine.newcomer()[None, :]
    return not np.isnan(job.engine.model.interval(newcomer)).any()


def accuracies(job: Job, skills: Sequence[Sequence[float] | Array]) -> Sequence[float | None]:
    """How often workers of these skills are right; None where the job's model does not tell."""
    if not skills or not tells_accuracy(job):
        return [None] * len(skills)
    found: list[float] = job.engine.model.accuracy(np.array(skills)).tolist()
    return found


def estimates(job: Job, rows: Sequence[WorkerRow]) -> list[Skill | None]:
    """What is known of each worker by the job's model; by agreement with resolved items where it tells nothing.

    None for a worker of whom nothing has been learned yet.
    """
    if not tells_accuracy(job):
        return [_by_agreement(row.agreed, row.decided) for row in rows]
    known = [row.skill for row in rows if row.skill is not None]
    model, skills = job.engine.model, np.array(known)
    ends = np.column_stack([model.accuracy(skills), model.interval(skills)]).tolist() if known else []
    found = iter(Skill(*three) for three in ends)
    return [None if row.skill is None else next(found) for row in rows]


def skill_rows(
    engine: Engine, known: Sequence[Sequence[float] | None], workers: int, otherwise: Array | None = None
) -> Array:
    """The skills of all workers, unnamed ones included; of whom nothing is known, `otherwise` or a newcomer's."""
    newcomer = engine.newcomer()
    rows = np.tile(newcomer, (workers, 1)) if otherwise is None else otherwise.copy()
    for place, skill in enumerate(known):
        if skill is not None:
            rows[place] = skill if len(skill) == len(newcomer) else _converted(engine, skill)
    return rows


def _converted(engine: Engine, skill: Sequence[float]) -> Array:
    """A skill that was brought from a job in another stage, in the shape of the one in force."""
    model, classes = engine.rules.worker_model, len(engine.rules.labels)
    widths = [len(model.acting(stage, classes).newcomer(classes)) for stage in range(len(model.stages(classes)))]
    converted: Array = model.convert(np.array([skill]), widths.index(len(skill)), engine.stage, classes)[0]
    return converted


def _by_agreement(agreed: int, decided: int) -> Skill | None:
    """Beta(agreed + 1/2, decided - agreed + 1/2), after Jeffreys: its mean and its interval."""
    if not decided:
        return None
    right, wrong = agreed + _JEFFREYS, decided - agreed + _JEFFREYS
    low, high = special.betaincinv(right, wrong, np.array([_LOW, _HIGH])).tolist()
    return Skill(right / (right + wrong), low, high)
