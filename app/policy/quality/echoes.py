"""Find workers who repeat the opinions of a source: the same model under two names counts once."""

from dataclasses import replace

import numpy as np

from app.policy.core.arrays import Array, Mask
from app.policy.core.ballots import Ballots, sum_by
from app.policy.core.belief import ItemContext
from app.policy.core.tuning import TUNED
from app.policy.worker_models.inference.dirichlet_skills import expected
from app.policy.worker_models.inference.error_rate import OneAccuracy


def find_echoes(ballots: Ballots, context: ItemContext) -> Mask:
    """Which workers repeat the opinions of each source of the ballots, shape (sources, workers).

        sum over answers of log P(agrees | repeats) - log P(agrees | independent) > 8,
        P(agrees | repeats) = .98,    P(agrees | independent) = a b + (1 - a)(1 - b) / (K - 1).

    a is the accuracy of the opinions' favourite labels and b that of the worker, by a fit of the answers alone. While
    nobody else has answered, b is that of a new worker: two who agree nearly always may both be very good, but nothing
    shows it yet. An independent worker of accuracy .85 would have to agree in nine of ten answers.
    """
    opinions, classes = ballots.opinions, ballots.classes
    if opinions is None:
        return np.zeros((0, ballots.workers), dtype=bool)
    found = np.zeros((len(opinions.source), ballots.workers), dtype=bool)
    if not opinions.given.any():
        return found
    model, fidelity = OneAccuracy(), TUNED.opinions.fidelity
    prior = np.tile(model.newcomer(classes), (ballots.workers, 1))
    alone = model.refit(replace(ballots, opinions=None), replace(context, prior=None), prior, prior)
    truth, by_worker = np.exp(alone.state.model_state), _bounded(expected(alone.skill)[:, 0])
    for source, (given, shares) in enumerate(zip(opinions.given, opinions.shares, strict=True)):
        favourite = np.nan_to_num(shares).argmax(axis=1)
        judged = np.flatnonzero(given & (ballots.answered | context.known))
        by_source = _bounded(truth[judged, favourite[judged]].mean()) if len(judged) else 0.5
        chance = by_source * by_worker + (1 - by_source) * (1 - by_worker) / (classes - 1)
        compared = given[ballots.item]
        who = ballots.worker[compared]
        agrees = ballots.label[compared] == favourite[ballots.item[compared]]
        evidence = np.where(agrees, np.log(fidelity / chance[who]), np.log((1 - fidelity) / (1 - chance[who])))
        found[source] = sum_by(who, evidence, ballots.workers) > TUNED.opinions.min_evidence
    return found


def _bounded(accuracy: Array) -> Array:
    return np.clip(accuracy, 0.01, 0.99)
