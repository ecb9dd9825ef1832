"""Fit all answers of a job: which stage of the worker model they ask for, and what they say under it."""

from dataclasses import dataclass, replace

import numpy as np

from app.policy.aggregation.ballots import Ballots
from app.policy.belief import Array, Facts, Mask, State
from app.policy.workers import WorkerModel
from app.policy.workers.base import Choice, Refitted
from app.policy.workers.replayed import widened


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

    Items with neither an answer nor gold take no part, so that a fit costs what its answers cost, and are as at the
    start. Of whom no answer is left to go by, for the votes were removed, what is known stays known.

    >>> from app.policy.workers import OneCoin
    >>> ballots = Ballots.of(*np.divmod(np.arange(9), 3), [0, 0, 0, 1, 1, 1, 0, 0, 1], items=4)
    >>> known = np.tile([4.0, 1.0], (3, 1))
    >>> found = fit(OneCoin(), 0, ballots, Facts.plain(4), Crowd(known, known))
    >>> found.stage, found.refitted.state.votes.tolist()
    (0, [[3.0, 0.0], [0.0, 3.0], [2.0, 1.0], [0.0, 0.0]])
    """
    informed = ballots.informed | facts.known
    told, told_facts = ballots.on(informed), facts.rows(np.flatnonzero(informed))
    choice = model.choose(told, told_facts, crowd.prior, stage)
    chosen = stage if choice is None else choice.stage
    skill, prior = (model.convert(each, stage, chosen, ballots.classes) for each in (crowd.skill, crowd.prior))
    refitted = model.fitted(chosen, told, told_facts, skill, prior)
    start = model.acting(chosen, ballots.classes).start(facts, ballots.classes)
    state = _among(start, refitted.state, informed)
    skill = np.where(ballots.heard[:, None], refitted.skill, skill)
    return Fit(chosen, choice, replace(refitted, state=state, skill=skill))


def _among(every: State, some: State, which: Mask) -> State:
    """The state of every item, where these are as `some` says."""
    votes, evidence = every.votes.copy(), np.array(widened(every.evidence, some.evidence.shape[1]))
    votes[which], evidence[which] = some.votes, some.evidence
    return State(votes, evidence)
