"""Estimate the ability of workers and the ease of items together."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from scipy import special

from app.policy.aggregation.base import Aggregation, MaxIterations, pseudo_answers
from app.policy.aggregation.run_em import Tolerance, posterior_and_evidence, run_em
from app.policy.core.arrays import Array
from app.policy.core.ballots import Ballots, Consensus, sum_by

_FLAT = 1e-6  # below this, tanh(x / 2) / 2x equals its limit 1/4 to all digits
_LONGEST_STEP = 1.0  # in log ease, because the curvature is known only near the current value


@dataclass(frozen=True)
class Abilities:
    """The parameters of the GLAD model."""

    ability: Array  # (workers,) alpha: below 0 for a worker who is wrong more often than right
    log_ease: Array  # (items,) log beta: low for an item on which even able workers guess


@dataclass(frozen=True)
class GladGradient:
    """The slope of the expected log-likelihood at every answer, and an upper bound of its curvature."""

    slope: Array  # (answers,)
    curvature: Array  # (answers,)


class Glad(Aggregation):
    """Estimate the ability of workers and the ease of items together (Whitehill et al., NIPS 2009).

    P(j is right on i) = sigma(alpha_j beta_i), beta_i = exp(b_i) > 0 (Eq. 1), errors spread evenly over the other
    K - 1 classes, all classes equally common beforehand, and alpha_j ~ N(1, 1), b_i ~ N(1, 1). With P_a the
    probability that answer a, of worker j to item i, is right, and s = alpha_j beta_i,

        E step:  P(i is c) ~ exp( sum over answers (i, j, c) of s + log(K - 1) )
        M step:  ascend  dQ/dalpha_j = sum_a (P_a - sigma(s)) beta_i - (alpha_j - 1),
                         dQ/db_i     = sum_a (P_a - sigma(s)) s      - (b_i - 1)

    The M step ascends Q a few steps only (generalised EM), each divided by the curvature of the bound of Jaakkola &
    Jordan, -tanh(s/2) / 2s, under which a step in alpha never descends; no step length has to be chosen.

    At first all abilities are 1 and all eases e, so two votes against one have the odds exp(e), or 0.9381. Later the
    third worker counts less, because this worker is in every minority:

    >>> ballots = Ballots.of(*np.divmod(np.arange(12), 3), [0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0])
    >>> Glad(max_iterations=1).fit(ballots).posterior[2].round(4).tolist()
    [0.9381, 0.0619]
    >>> consensus = Glad().fit(ballots)
    >>> consensus.labels(), bool(consensus.skill[0] == consensus.skill[1] > consensus.skill[2])
    (array([0, 1, 0, 1]), True)
    """

    kind: Literal["glad"] = "glad"
    expected_ability: Annotated[float, Field(gt=0, le=10, description="Prior mean of a worker's ability")] = 1.0
    expected_log_ease: Annotated[float, Field(ge=-10, le=10, description="Prior mean of an item's log ease")] = 1.0
    ascent_steps: Annotated[int, Field(ge=1, le=100, description="Gradient steps in each M step")] = 3
    max_iterations: MaxIterations = 100
    tolerance: Tolerance = 1e-6

    def fit(self, ballots: Ballots, worker_prior: Array | None = None) -> Consensus:
        pseudo = pseudo_answers(ballots, worker_prior)
        start = Abilities(
            np.full(ballots.workers, self.expected_ability), np.full(ballots.items, self.expected_log_ease)
        )
        result = run_em(
            start,
            lambda abilities: self._e_step(abilities, ballots, pseudo),
            lambda posterior, abilities: self._m_step(posterior, abilities, ballots, pseudo),
            max_iterations=self.max_iterations,
            smallest_gain=self.tolerance * len(ballots.item),
        )
        return result.consensus(ballots, pseudo)

    def _e_step(self, abilities: Abilities, ballots: Ballots, pseudo: Array) -> tuple[Array, float]:
        log_others = np.log(max(ballots.classes - 1, 1))
        strength = abilities.ability[ballots.worker] * np.exp(abilities.log_ease)[ballots.item]
        votes = sum_by(ballots.cell, strength + log_others, ballots.items * ballots.classes)
        log_joint = votes.reshape(ballots.items, ballots.classes) - np.log(ballots.classes)
        posterior, evidence = posterior_and_evidence(log_joint, ballots)
        log_wrong = special.log_expit(-strength) - log_others
        return posterior, evidence + float(log_wrong.sum()) + self._log_prior(abilities, pseudo)

    def _log_prior(self, abilities: Abilities, pseudo: Array) -> float:
        ability, log_ease = abilities.ability - self.expected_ability, abilities.log_ease - self.expected_log_ease
        usual = abilities.ability * np.exp(self.expected_log_ease)
        elsewhere = np.stack([special.log_expit(usual), special.log_expit(-usual)], axis=1)
        return float(np.vdot(pseudo, elsewhere) - (ability @ ability + log_ease @ log_ease) / 2)

    def _m_step(self, posterior: Array, abilities: Abilities, ballots: Ballots, pseudo: Array) -> Abilities:
        chance = posterior.ravel()[ballots.cell]  # (answers,) that the answer is right
        for _ in range(self.ascent_steps):
            better = Abilities(self._better_ability(chance, abilities, ballots, pseudo), abilities.log_ease)
            abilities = Abilities(better.ability, self._better_ease(chance, better, ballots))
        return abilities

    def _better_ability(self, chance: Array, abilities: Abilities, ballots: Ballots, pseudo: Array) -> Array:
        ease = np.exp(abilities.log_ease)[ballots.item]
        gradient = _gradient(chance, abilities.ability[ballots.worker] * ease)
        slope = sum_by(ballots.worker, gradient.slope * ease, ballots.workers)
        curvature = sum_by(ballots.worker, gradient.curvature * ease**2, ballots.workers)
        # Pseudo-answers come from other jobs: they count as answers to items of the expected ease.
        usual, asked = np.exp(self.expected_log_ease), pseudo.sum(axis=1)
        from_elsewhere = _gradient(pseudo[:, 0] / np.maximum(asked, 1e-300), abilities.ability * usual)
        slope += asked * from_elsewhere.slope * usual + self.expected_ability - abilities.ability
        curvature += asked * from_elsewhere.curvature * usual**2 + 1
        return abilities.ability + slope / curvature

    def _better_ease(self, chance: Array, abilities: Abilities, ballots: Ballots) -> Array:
        strength = abilities.ability[ballots.worker] * np.exp(abilities.log_ease)[ballots.item]
        gradient = _gradient(chance, strength)
        slope = sum_by(ballots.item, gradient.slope * strength, ballots.items)
        # s = alpha exp(b) is itself curved in b: its second derivative equals its first, which adds a term.
        curvature = sum_by(
            ballots.item, gradient.curvature * strength**2 + np.abs(gradient.slope * strength), ballots.items
        )
        step = (slope + self.expected_log_ease - abilities.log_ease) / (curvature + 1)
        return abilities.log_ease + np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)


def _gradient(chance: Array, strength: Array) -> GladGradient:
    """Slope and curvature of  P log sigma(s) + (1 - P) log sigma(-s)  in s.

    >>> at_zero = _gradient(np.array([0.75]), np.array([0.0]))
    >>> at_zero.slope.tolist(), at_zero.curvature.round(6).tolist()
    ([0.25], [0.25])
    """
    size = np.maximum(np.abs(strength), _FLAT)
    return GladGradient(chance - special.expit(strength), np.tanh(size / 2) / (2 * size))
