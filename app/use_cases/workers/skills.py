"""Skills of workers: how often a worker is right, and skills as arrays for the engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from app.domain.job import Job
from app.domain.worker import OfTier, Voter, Worker, WorkerRecord
from app.errors import FieldError
from app.policy.core.belief import Array
from app.policy.engine import Engine
from app.policy.worker_models.base import credit

_JEFFREYS = 0.5
_LOW, _HIGH = 0.025, 0.975
_LEAST_EVIDENCE = 1e-3  # pseudo-answers of each kind that a skill keeps


@dataclass(frozen=True, slots=True)
class Skill:
    """How often a worker is right, with a 95 % interval."""

    estimate: float
    low: float
    high: float


def estimates_accuracy(job: Job) -> bool:
    """Whether the job's model estimates how often a worker is right; some have only a weight, or no skill."""
    newcomer = job.engine.newcomer()[None, :]
    return not np.isnan(job.engine.model.interval(newcomer)).any()


def accuracies(job: Job, skills: Sequence[Sequence[float] | Array]) -> Sequence[float | None]:
    """Return how often workers with these skills are right; None if the job's model does not estimate that."""
    if not skills or not estimates_accuracy(job):
        return [None] * len(skills)
    found: list[float] = job.engine.model.accuracy(np.array(skills)).tolist()
    return found


def estimates(job: Job, rows: Sequence[WorkerRecord]) -> list[Skill | None]:
    """Return each worker's skill by the job's model, or by agreement with final labels if the model has no estimate.

    None for a worker about whom nothing is known yet.
    """
    if not estimates_accuracy(job):
        return [_by_agreement(row.agreed_answers, row.scored_answers) for row in rows]
    known = [row.skill for row in rows if row.skill is not None]
    model, skills = job.engine.model, np.array(known)
    ends = np.column_stack([model.accuracy(skills), model.interval(skills)]).tolist() if known else []
    found = iter(Skill(*three) for three in ends)
    return [None if row.skill is None else next(found) for row in rows]


def skill_rows(
    engine: Engine, known: Sequence[Sequence[float] | Array | None], workers: int, otherwise: Array | None = None
) -> Array:
    """Return the skills of all workers as rows, unnamed workers last, shape (workers, *).

    A worker about whom nothing is known gets the row of `otherwise`, or the skill of a new worker.
    """
    newcomer = engine.newcomer()
    rows = np.tile(newcomer, (workers, 1)) if otherwise is None else otherwise.copy()
    for row, skill in enumerate(known):
        if skill is not None:
            rows[row] = skill if len(skill) == len(newcomer) else _converted(engine, skill)
    return rows


def tier_skills(engine: Engine) -> dict[Voter, Array]:
    """Return the skill of an answer that comes with a tier, for each tier of the worker model."""
    model = engine.policy.worker_model
    return {OfTier(tier): model.skill_of(tier) for tier in model.tier_names}


def with_tiers(engine: Engine, rows: Array, tiers: Mapping[int, str]) -> Array:
    """Return the skills, (workers, parameters), with those of answers that came with a tier."""
    for row, tier in tiers.items():
        rows[row] = engine.policy.worker_model.skill_of(tier)
    return rows


def wrong_tier(job: Job, tier: str, pointer: str) -> FieldError | None:
    """Say why an answer, a request for work or a worker cannot have this tier; None if it can."""
    model = job.policy.worker_model
    if tier in model.tier_names:
        return None
    if not model.tier_names:
        message = f"The job's worker_model is {model.kind!r}, which has no tiers. Leave `tier` out"
        return FieldError(f"{pointer}/tier", message)
    return FieldError(f"{pointer}/tier", f"Must be one of {', '.join(map(repr, model.tier_names))}")


def credited_rows(engine: Engine, carried: Sequence[Sequence[float] | None], stated: Array, workers: int) -> Array:
    """Return what each worker is credited with before any answer of the job, as rows, (workers, *).

    That is what a requester states, (workers, 2), or the skill from another job, or the skill of a new worker.
    """
    return credit(engine.model, skill_rows(engine, carried, workers), stated, engine.policy.classes)


def stated_skill(job: Job, worker: Worker) -> Array | None:
    """Return the skill that a requester states; None if nothing is stated, or the job's model keeps no accuracy."""
    if worker.stated_accuracy is None or worker.stated_weight is None:
        return None
    return job.engine.model.stated_skill(worker.stated_accuracy, worker.stated_weight, job.policy.classes)


def with_statement(job: Job, worker: Worker, accuracy: float, weight: float) -> Array | None:
    """Return the skill of a worker about whom this is stated now: what the answers have shown stays; None: no skill."""
    now = job.engine.model.stated_skill(accuracy, weight, job.policy.classes)
    if now is None or worker.skill is None:
        return now
    stated = np.array([[worker.stated_accuracy, worker.stated_weight]], dtype=np.float64)
    before = credited_rows(job.engine, [worker.carried], stated, 1)[0]
    return np.asarray(np.maximum(now + skill_rows(job.engine, [worker.skill], 1)[0] - before, _LEAST_EVIDENCE))


def _converted(engine: Engine, skill: Sequence[float] | Array) -> Array:
    """Convert a skill that was copied from a job in another stage to the present stage."""
    classes = engine.policy.classes
    stages = engine.policy.worker_model.stages(classes)
    widths = [len(model.newcomer(classes)) for model in stages.models]
    return np.asarray(stages.convert(np.array([skill]), widths.index(len(skill)), engine.stage)[0])


def _by_agreement(agreed_answers: int, scored_answers: int) -> Skill | None:
    """Return mean and 95 % interval of Beta(agreed_answers + 1/2, scored_answers - agreed_answers + 1/2) (Jeffreys)."""
    if not scored_answers:
        return None
    right, wrong = agreed_answers + _JEFFREYS, scored_answers - agreed_answers + _JEFFREYS
    low, high = special.betaincinv(right, wrong, np.array([_LOW, _HIGH])).tolist()
    return Skill(right / (right + wrong), low, high)
