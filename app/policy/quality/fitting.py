"""Fit all answers of a job: choose the stage of the worker model, then fit every worker and item under it."""

from dataclasses import dataclass, replace

import numpy as np

from app.policy.answers.questions import Questions
from app.policy.core.arrays import Array, IntArray, Mask
from app.policy.core.ballots import UNKNOWN, Ballots
from app.policy.core.belief import ItemContext, State
from app.policy.core.opinions import Opinions
from app.policy.core.tuning import TUNED
from app.policy.quality.calibration import WITH_GOLD, Calibration, CalibrationPrior, calibrate
from app.policy.quality.echoes import find_echoes
from app.policy.quality.item_features import ItemFeatures
from app.policy.worker_models.base import Refitted, WorkerModel, with_opinions
from app.policy.worker_models.inference.answer_replay import widened
from app.policy.worker_models.stages import StageChoice


@dataclass(frozen=True)
class FittedCrowd:
    """The workers of a fit; row w of every array is worker w."""

    skill: Array  # (workers, parameters) as known before the fit
    prior: Array  # (workers, parameters) what each is credited with before any answer of this job
    stated: Array | None = None  # (workers, 2) accuracy and weight where a requester knows them, and NaN elsewhere


@dataclass(frozen=True)
class Fit:
    """The result of a fit: the stage that acts from now on, and all items and workers under it."""

    stage: int
    choice: StageChoice | None  # None: the model has one stage, or was fitted under one
    refitted: Refitted
    calibration: Calibration | None = None  # None: too few items of known truth have answers
    echoes: Mask | None = None  # (sources, workers) who repeats the opinions; None: there are none
    opinions: Opinions | None = None  # those that count, with those of the features


def fit(  # noqa: PLR0913  half of them are keywords with a default
    model: WorkerModel,
    stage: int,
    ballots: Ballots,
    context: ItemContext,
    crowd: FittedCrowd,
    *,
    stage_only: bool = False,
    features: ItemFeatures | None = None,
    audited: IntArray | None = None,
    calibration_prior: CalibrationPrior = WITH_GOLD,
    questions: Questions | None = None,
) -> Fit:
    """Choose the stage by the job's own answers, then fit them all under it.

    Items with neither an answer nor gold take no part, so that a fit costs what its answers cost; they get their state
    before any answer, by the opinion of its source if there is one. Workers without a remaining answer, because their
    votes were removed, keep their skill.

    With `stage_only` the answers are fitted under `stage` as it is, and none is chosen. That takes a third of the time,
    for forecasts, which fit hundreds of times.

    `features` speak as one more source. `audited`, (items,), is the class that an audit found for an item, or -1. It
    calibrates the confidence and nothing else: no skill is fitted by it, and no item gets its label from it.
    `calibration_prior` is what is expected of the map before any truth.

    Where items are several `questions`, each is fitted, and calibrated, as an item of its own.

    >>> from app.policy.worker_models import OneCoin
    >>> ballots = Ballots.of(*np.divmod(np.arange(9), 3), [0, 0, 0, 1, 1, 1, 0, 0, 1], items=4)
    >>> known = np.tile([4.0, 1.0], (3, 1))
    >>> found = fit(OneCoin(), 0, ballots, ItemContext.plain(4), FittedCrowd(known, known))
    >>> found.stage, found.refitted.state.votes.tolist()
    (0, [[3.0, 0.0], [0.0, 3.0], [2.0, 1.0], [0.0, 0.0]])
    """
    if questions is not None:
        ballots, context = questions.ballots(ballots), questions.context(context)
        audited = None if audited is None else questions.known(audited)
    stages = model.stages(ballots.classes).crediting(crowd.stated)
    informed = ballots.informed | context.known
    if features is not None:
        ballots = features.spoken(ballots, context)
    echoes = None if ballots.opinions is None else find_echoes(ballots.on(informed), context.rows(informed))
    ballots = ballots.with_opinions(ballots.opinions, echoes)
    some_ballots, some_context = ballots.on(informed), context.rows(informed)
    choice = None if stage_only else stages.choose(some_ballots, some_context, crowd.prior, stage)
    chosen = stage if choice is None else choice.stage
    skill, prior = (stages.convert(each, stage, chosen) for each in (crowd.skill, crowd.prior))
    refitted = stages.refit(chosen, some_ballots, some_context, skill, prior)
    skill = np.where(ballots.fitted(informed)[:, None], refitted.skill, skill)
    model_now = stages.model(chosen)
    start = model_now.start(with_opinions(model_now, context, ballots, skill), ballots.classes)
    state = _among(start, refitted.state, informed)
    found = None if audited is None else audited[informed]
    checks = _checks(stages.model(chosen), some_ballots, some_context, refitted, found)
    calibration = None if checks is None else calibrate(*checks, calibration_prior)
    state, opinions = (
        (state, ballots.opinions)
        if questions is None
        else (
            questions.folded(state),
            questions.folded_opinions(ballots.opinions),
        )
    )
    return Fit(chosen, choice, replace(refitted, state=state, skill=skill), calibration, echoes, opinions)


def _checks(
    model: WorkerModel, ballots: Ballots, context: ItemContext, fit: Refitted, audited: IntArray | None
) -> tuple[Array, Array, Mask] | None:
    """Confidence and dissent of the items of known truth with answers, and who of them is right; None: too few.

    Where gold teaches the fit, it is judged by its blind state. The truth of audited items has not taught the fit, so
    their state is blind as it is.
    """
    if not model.calibrates:
        return None
    truth = np.full(ballots.items, UNKNOWN) if audited is None else audited
    if context.gold is not None:
        truth = np.where(context.known, context.gold if fit.blind is not None else UNKNOWN, truth)
    checked = np.flatnonzero((truth != UNKNOWN) & ballots.answered)
    if len(checked) < TUNED.calibration.min_checked:
        return None
    state = fit.state if fit.blind is None else fit.blind
    blind = State(state.votes[checked], state.model_state[checked])
    belief = model.read(blind, replace(context.rows(checked), gold=None))
    return belief.certainty, belief.dissent, np.asarray(belief.leader == truth[checked])


def _among(every: State, some: State, which: Mask) -> State:
    """The state of every item, with that of `some` for the items of the mask."""
    votes, model_state = every.votes.copy(), np.array(widened(every.model_state, some.model_state.shape[1]))
    votes[which], model_state[which] = some.votes, some.model_state
    return State(votes, model_state)
