"""Draw possible worlds, each with truths, eases and abilities: from a prior, or from a job's own answers."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from app.policy.core.ballots import Ballots
from app.policy.core.belief import Array, IntArray
from app.simulation.crowd_gibbs import EASES, EVEN_SHARES, GibbsSampler, WorkerSorts, chosen
from app.simulation.crowd_population import ALL_CROWDS, CrowdDraws, CrowdPopulation

_SWEEPS = 40
_MOST_UNSEEN = 4  # per worker who has answered
_MOST_UNSEEN_AT_ALL = 1_000
_FEWEST_WORKERS = 20
_MOST_LURED = 20  # votes for one wrong class: more of them do not make it a surer lure


@dataclass(frozen=True)
class Worlds:
    """Several possible worlds of the same items and workers; row r of every array is one of them.

    A worker of ability a is right on an item of ease e with probability 1 / (1 + exp(-a - e)) (Rasch 1960); one who
    guesses heeds no ease. Between two classes, workers have a bias b: their ability is a + b if the first class is
    true, and a - b if the second. Of the wrong answers on an item, a share names the same wrong class, its lure, and
    the others each wrong class equally often. Where the crowd misreads an item, its answers point to a wrong class.
    """

    truth: IntArray  # (worlds, items) the class to which the answers point
    ease: Array  # (worlds, items)
    ability: Array  # (worlds, workers)
    bias: Array  # (worlds, workers)
    attention: Array  # (worlds, workers) 1, or 0 for a worker who guesses
    presence: Array  # (worlds, workers) probability that each is the next to arrive; sums to 1
    lure: IntArray  # (worlds, items) a wrong class
    lured: Array  # (worlds,) the share of wrong answers that name the lure, beyond its part of the others
    label: IntArray  # (worlds, items) the right label; it differs from `truth` where the crowd misreads the item
    classes: int

    @classmethod
    def plain(
        cls, truth: IntArray, ease: Array, ability: Array, bias: Array, presence: Array, classes: int
    ) -> "Worlds":
        """Worlds in which nobody guesses and no errors are shared; `presence` is (workers,)."""
        return cls(
            truth=truth,
            ease=ease,
            ability=ability,
            bias=bias,
            attention=np.ones(ability.shape),
            presence=np.tile(presence, (len(ability), 1)),
            lure=(truth + 1) % classes,
            lured=np.zeros(len(truth)),
            label=truth,
            classes=classes,
        )

    def answers(self, world: IntArray, item: IntArray, worker: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw an answer of worker[i] on item[i] in world[i]; shape (answers,)."""
        truth = self.truth[world, item]
        leaning = np.where(truth == 0, 1, -1) * self.bias[world, worker]
        ease = self.attention[world, worker] * self.ease[world, item]
        right = rng.random(len(item)) < special.expit(self.ability[world, worker] + leaning + ease)
        wrong = (truth + rng.integers(1, self.classes, size=len(item))) % self.classes
        lured = rng.random(len(item)) < self.lured[world]
        return np.where(right, truth, np.where(lured, self.lure[world, item], wrong))


def worlds_of_prior(
    shape: tuple[float, float],
    spread: float,
    size: tuple[int, int, int],
    classes: int,
    rng: np.random.Generator,
) -> Worlds:
    """Draw items on which a share from Beta(a, b) of the workers is right, and workers with log-odds of sd `spread`.

    `size` is worlds, items and workers; all workers arrive equally often.
    """
    worlds, items, workers = size
    share = np.clip(rng.beta(*shape, size=(worlds, items)), 1e-6, 1 - 1e-6)
    truth = rng.integers(classes, size=(worlds, items))
    ability = spread * rng.standard_normal((worlds, workers))
    presence = np.full(workers, 1 / workers)
    return Worlds.plain(truth, special.logit(share), ability, np.zeros(ability.shape), presence, classes)


def worlds_of_population(
    population: CrowdPopulation, size: tuple[int, int, int], classes: int, rng: np.random.Generator
) -> Worlds:
    """Draw a crowd of the population for each world, then its workers and items; `size` as in `worlds_of_prior`."""
    worlds, items, workers = size
    crowds, sorts = population.draw(worlds, rng), WorkerSorts(classes)
    activity = rng.standard_normal((worlds, workers))
    careful, guessing = sorts.shares(crowds)
    guesses = rng.random((worlds, workers)) < crowds.guessing(activity)
    sort = np.where(
        guesses,
        sorts.careful + chosen(np.broadcast_to(guessing, (worlds, workers, len(guessing))), rng),
        chosen(np.repeat(careful[:, None], workers, axis=1), rng),
    )
    presence = np.exp(np.exp(crowds.log_activity_spread)[:, None] * activity)
    common = rng.gamma(EVEN_SHARES, size=(worlds, 1, classes))
    truth = chosen(np.repeat(common, items, axis=1), rng)
    lure, label = _shared_errors(truth, crowds, None, classes, rng)
    return Worlds(
        truth=truth,
        ease=np.exp(crowds.log_item_spread)[:, None] * rng.standard_normal((worlds, items)),
        ability=sorts.ability[sort],
        bias=sorts.bias[sort],
        attention=sorts.attention[sort],
        presence=presence / presence.sum(axis=1, keepdims=True),
        lure=lure,
        lured=special.expit(crowds.lure_logit),
        label=label,
        classes=classes,
    )


def worlds_of_answers(
    ballots: Ballots,
    worlds: int,
    prior: Array | None,
    rng: np.random.Generator,
    population: CrowdPopulation = ALL_CROWDS,
) -> Worlds:
    """Draw from the posterior given the answers: truths, eases, abilities, and how much workers and items differ.

    `prior` is (items, classes), NaN where there is none. The workers of the ballots are followed by workers who have
    not arrived yet: as many as Chao (1984) estimates, with the share of answers that Good (1953) estimates.
    """
    presence = _presence(np.bincount(ballots.worker, minlength=ballots.workers))
    gibbs = GibbsSampler(ballots, worlds, prior, rng, population)
    for _ in range(_SWEEPS):
        gibbs.sweep()
    truth, sort = gibbs.truth(), gibbs.workers(len(presence) - ballots.workers)
    crowds = CrowdDraws(*(each[gibbs.crowd] for each in gibbs.crowds))
    lure, label = _shared_errors(truth, crowds, ballots, ballots.classes, rng)
    return Worlds(
        truth=truth,
        ease=EASES[gibbs.ease],
        ability=gibbs.sorts.ability[sort],
        bias=gibbs.sorts.bias[sort],
        attention=gibbs.sorts.attention[sort],
        presence=np.tile(presence, (worlds, 1)),
        lure=lure,
        lured=special.expit(crowds.lure_logit),
        label=label,
        classes=ballots.classes,
    )


def _shared_errors(
    truth: IntArray, crowds: CrowdDraws, ballots: Ballots | None, classes: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw each item's lure, given its votes, and the right label, which is the lure where the crowd misreads it."""
    worlds, items = truth.shape
    lured = special.expit(crowds.lure_logit)[:, None, None]
    votes = np.zeros((items, classes)) if ballots is None else ballots.votes()
    other = (1 - lured) / max(classes - 1, 1)
    weight = np.broadcast_to(((lured + other) / other) ** np.minimum(votes, _MOST_LURED), (worlds, items, classes))
    lure = chosen(np.where(truth[:, :, None] == np.arange(classes), 0.0, weight), rng)
    misread = rng.random((worlds, items)) < special.expit(crowds.misread_logit)[:, None]
    if ballots is not None and ballots.gold is not None:
        misread &= ballots.gold < 0
    return lure, np.where(misread, lure, truth)


def _presence(answers: IntArray) -> Array:
    """The probability that each worker, seen or not seen yet, arrives next, shape (workers + unseen,).

    The crowd has at least twenty workers, even if fewer have answered.

    >>> _presence(np.array([4, 2, 1, 1])).round(3).tolist()[:5]  # a quarter of the answers is by workers seen once
    [0.375, 0.188, 0.094, 0.094, 0.016]
    """
    once, twice, total = int((answers == 1).sum()), int((answers == 2).sum()), int(answers.sum())  # noqa: PLR2004
    most = min(_MOST_UNSEEN * len(answers), _MOST_UNSEEN_AT_ALL)
    estimated = min(math.ceil(once * (once - 1) / (2 * (twice + 1))), most)
    unseen = max(estimated, _FEWEST_WORKERS - len(answers))
    if not unseen:
        return np.asarray(answers / total)
    share = max(once, 1) / max(total, 1)
    return np.concatenate([(1 - share) * answers / max(total, 1), np.full(unseen, share / unseen)])
