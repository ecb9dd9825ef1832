"""Infer which workers copy one source: belief propagation between items and workers."""

from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy import special

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.ballots import Ballots, sum_by
from app.policy.core.tuning import TUNED
from app.policy.worker_models.inference.dirichlet_skills import expected
from app.policy.worker_models.inference.latent_truth import mean_of, without

_CONVERGED = 1e-4  # average change of a class's probability, and of a worker's probability of copying
_DAMPING = 0.5  # all workers are judged at once; undamped, both groups may swap
_MIN_WEIGHT = 1e-300


@dataclass(frozen=True)
class CopierFit:
    """What the answers say if some workers copy. Classes are the first axis: numpy is slower along a short last one."""

    truth: Array  # (classes, items) P(t), t the true class
    source: Array  # (classes, items) P(s), s what the source says
    copying_probability: Array  # (workers,) phi, the probability that the worker copies the source
    skill: Array  # (workers, 2) right and wrong answers of the worker's own knowledge
    score: float  # the mean log-likelihood of an answer given all others
    knowledge: float  # by how much P(t) predicts workers who do not copy better than a guess, in nats per answer
    iterations: int
    converged: bool


def infer_copiers(ballots: Ballots, before: Array, prior: Array, suspected: Mask, max_iterations: int) -> CopierFit:
    """Belief propagation (Pearl 1988), starting with these workers, shape (workers,), as the suspected copiers.

    Item i has class t, and the source says s; P(t) is `before`, shape (classes, items), P(s = t) = a. For an answer l,

        P(l | t, s) = (1 - phi) P(l | t) + phi P(l | s),    P(l | t) = rho if l = t,    P(l | s) = .98 if l = s,

    with errors spread evenly over the other classes. In turns: P(t, s) of an item from its answers, each with phi, rho
    of its worker without this answer; phi and rho of a worker from the answers' chances under P(t, s) without them;
    a from all items with answers; until P(t) of those, and phi, move by no more than 1e-4 on average.
    """
    who, heard, answered, classes = ballots.worker, ballots.heard, ballots.answered, ballots.classes
    tuned, fidelity = TUNED.copiers, TUNED.copiers.fidelity
    copying_probability = np.where(suspected, tuned.suspected, tuned.trusted)
    copying, right, agreed = copying_probability[who], expected(prior)[who, 0], 0.5
    truth, iteration, moved = np.exp(before), 0, np.inf
    while iteration < max_iterations and moved > _CONVERGED:
        chance = _Chance.of(right, copying, classes)
        items = _Items.of(ballots, before, agreed, chance)
        is_true, is_said = items.without_it(_cell(ballots), chance)
        by_own, by_source = answer_chance(is_true, right, classes), answer_chance(is_said, fidelity, classes)
        gain = np.log(by_source / by_own)
        share = (copying_probability[heard].sum() + tuned.copiers_expected) / (
            heard.sum() + tuned.copiers_expected + tuned.others_expected
        )
        odds = special.logit(share) + sum_by(who, gain, ballots.workers)
        updated = copying_probability + _DAMPING * (special.expit(odds) - copying_probability)
        copying = copying + _DAMPING * (special.expit(odds[who] - gain) - copying)
        known = is_true * right / by_own
        skill = prior + _by_worker(ballots, known)
        right = expected(np.stack([without(skill[who, 0], known), without(skill[who, 1], 1 - known)], axis=1))[:, 0]
        agreed = (1 + items.both[:, answered].sum()) / (2 + answered.sum())
        moved = max(
            mean_of(np.abs(items.truth - truth)[:, answered]), mean_of(np.abs(updated - copying_probability)[heard])
        )
        truth, copying_probability = items.truth, updated
        iteration += 1
    return CopierFit(
        truth=truth,
        source=items.source,
        copying_probability=copying_probability,
        skill=skill,
        score=float(np.log((1 - copying) * by_own + copying * by_source).mean()),
        knowledge=float(np.average(np.log(classes * by_own), weights=np.maximum(1 - copying, _MIN_WEIGHT))),
        iterations=iteration,
        converged=moved <= _CONVERGED,
    )


def answer_chance(belief: Array, hit: Array | float, classes: int) -> Array:
    """P(answer) of a worker who gives the right class with probability `hit`, if it is right with probability `belief`.

    >>> answer_chance(np.array([1.0, 0.5]), 0.8, 3).round(6).tolist()
    [0.8, 0.45]
    """
    return np.asarray(belief * hit + (1 - belief) * (1 - hit) / (classes - 1))


@dataclass(frozen=True)
class _Chance:
    """P(answer) if it equals both the truth and what the source says, one of them only, or neither."""

    both: Array  # (answers,)
    truth: Array
    source: Array
    neither: Array

    @classmethod
    def of(cls, right: Array, copying: Array, classes: int) -> "_Chance":
        own = [(1 - copying) * answer_chance(np.asarray(hit), right, classes) for hit in (1.0, 0.0)]
        said = [copying * answer_chance(np.asarray(hit), TUNED.copiers.fidelity, classes) for hit in (1.0, 0.0)]
        return cls(own[0] + said[0], own[0] + said[1], own[1] + said[0], own[1] + said[1])


@dataclass(frozen=True)
class _Items:
    """P(t), P(s) and P(t = s) of every class, each (classes, items)."""

    truth: Array
    source: Array
    both: Array

    @classmethod
    def of(cls, ballots: Ballots, before: Array, agreed: float, chance: _Chance) -> "_Items":
        """From all answers: P(t, s) ~ P(t) P(s | t) A_t B_s C_t^[t = s], so a sum over pairs is one over classes."""
        neither = np.log(chance.neither)
        truth, source = np.log(chance.truth) - neither, np.log(chance.source) - neither
        both = np.log(chance.both) - neither - truth - source
        of_truth, of_source, of_both = (
            sum_by(_cell(ballots), each, before.size).reshape(before.shape) for each in (truth, source, both)
        )
        of_truth = of_truth + before
        apart = np.log((1 - agreed) / (len(before) - 1))
        together = np.log(agreed) + of_truth + of_source + of_both
        true = np.logaddexp(apart + of_truth + _log_of_others(of_source), together)
        said = np.logaddexp(apart + of_source + _log_of_others(of_truth), together)
        top = reduce(np.maximum, true)
        total = top + np.log(reduce(np.add, np.exp(true - top)))
        return cls(np.exp(true - total), np.exp(said - total), np.exp(together - total))

    def without_it(self, cell: Index, chance: _Chance) -> tuple[Array, Array]:
        """P(answer is the truth) and P(answer is what the source says), given the item's other answers; (answers,)."""
        both, truth, source = (each.ravel()[cell] for each in (self.both, self.truth, self.source))
        apart = np.maximum(truth - both, 0) / chance.truth, np.maximum(source - both, 0) / chance.source
        together, neither = both / chance.both, np.maximum(1 - truth - source + both, 0) / chance.neither
        total = together + apart[0] + apart[1] + neither
        return (together + apart[0]) / total, (together + apart[1]) / total


def _cell(ballots: Ballots) -> Index:
    """The position of each answer in a flat (classes, items) array."""
    return ballots.label * ballots.items + ballots.item


def _by_worker(ballots: Ballots, right: Array) -> Array:
    return np.stack([sum_by(ballots.worker, each, ballots.workers) for each in (right, 1 - right)], axis=1)


def _log_of_others(logarithms: Array) -> Array:
    """The logarithm of the sum over the other classes, for each class, without cancellation; (classes, items)."""
    others = np.full_like(logarithms, -np.inf)
    others[1:] = np.logaddexp.accumulate(logarithms[:-1], axis=0)
    others[:-1] = np.logaddexp(others[:-1], np.logaddexp.accumulate(logarithms[:0:-1], axis=0)[::-1])
    return others
