"""Fit all answers of a job: which stage of the worker model they ask for, and what they say under it."""

from dataclasses import dataclass, replace

import numpy as np

from app.policy.aggregation.ballots import Ballots
from app.policy.belief import Array, Facts
from app.policy.workers import WorkerModel
from app.policy.workers.base import Choice, Refitted


@dataclass(frozen=True)
class Crowd:
    """The workers of a fit as they are known; row w of every array is worker w."""

    skill: Array  # (workers, parameters)
    prior: Array  # (workers, parameters) what each is credited with before any answer of this job


@dataclass(frozen=True)
class Fit:
    stage: int
    choice: Choice | None  # None: the model has but one stage
    refitted: Refitted


def fit(model: WorkerModel, stage: int, ballots: Ballots, facts: Facts, crowd: Crowd) -> Fit:
    """Choose the stage by the job's own answers, then fit them all under it.

    Of whom no answer is left to go by, for the votes were removed, what is known stays known.

    >>> from app.policy.workers import OneCoin
    >>> ballots = Ballots.of(*np.divmod(np.arange(9), 3), [0, 0, 0, 1, 1, 1, 0, 0, 1])
    >>> known = np.tile([4.0, 1.0], (3, 1))
    >>> found = fit(OneCoin(), 0, ballots, Facts.plain(3), Crowd(known, known))
    >>> found.stage, found.refitted.state.votes.tolist()
    (0, [[3.0, 0.0], [0.0, 3.0], [2.0, 1.0]])
    """
    choice = model.choose(ballots, facts, crowd.prior, stage)
    chosen = stage if choice is None else choice.stage
    skill, prior = (model.convert(each, stage, chosen, ballots.classes) for each in (crowd.skill, crowd.prior))
    refitted = model.acting(chosen, ballots.classes).refit(ballots, facts, skill, prior)
    return Fit(chosen, choice, replace(refitted, skill=np.where(ballots.heard[:, None], refitted.skill, skill)))
