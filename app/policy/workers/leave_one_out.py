"""Fit the workers of a job in which every item divides opinions in shares of its own."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np

from app.policy.aggregation.ballots import Ballots, sum_by
from app.policy.belief import Array, Facts
from app.policy.workers.base import Refitted, with_gold
from app.policy.workers.counted_votes import PriorWeight, first_parameters
from app.policy.workers.replayed import replayed
from app.policy.workers.skill_rows import SkillRows

_MOST_ITERATIONS = 50
_STANDSTILL = 3e-3  # of a worker's answers
_DAMPING = 0.5  # all answers of an item move at once; undamped they overshoot together
_LEAST = 0.05  # of a parameter once an answer is taken out: approximations may take out more than they put in
_MOST_NUMBERS = 10_000_000  # answers times classes that are fitted: some 600 MB, and twenty seconds


class DividedOpinions(SkillRows):
    """Models in which an item has shares theta ~ Dirichlet, and z ~ theta is what a perfect worker would have said.

    `refit` estimates the skills from all answers at once. For each answer a, with `rest` what is believed of its item
    without it (expectation propagation: Minka, UAI 2001),

        P(z_a = k) ~ rest_k E P(answer a | z = k, worker),    part_a = matched(rest, P(z_a)) - rest,
        item = start + its answers' parts,    skill of j = prior_j + what P(z_a) says of the answers of j,

    in turns until no skill moves by more than 0.3 % of the answers behind it. Then the answers are told again with
    these skills, so that the evidence is what it would be had the workers been known from the start.

    Not the mean field of the same model: there an answer confirms itself, since the shares that judge it contain it,
    and items soak up whatever busy workers say. With 4 answers per item on RTE that gave .760 (one-coin) and .855
    (two-coin), this gives .878 and .875, and a majority .805 (ten draws, ties one half). With all 10 they are alike.
    """

    fits_skills: ClassVar[bool] = True
    prior_weight: PriorWeight = 2.0

    @abstractmethod
    def fitting(self, skill: Array, ballots: Ballots) -> Array:
        """How likely each answer is where a perfect worker would say each class, shape (classes, answers)."""

    @abstractmethod
    def counted(self, shown: Array, ballots: Ballots) -> Array:
        """What the answers add to skills if P(z_a = k) = shown[k, a], shape (workers, parameters)."""

    def refit(self, ballots: Ballots, facts: Facts, skill: Array, prior: Array) -> Refitted:
        """Where answers times classes pass ten million, skills stay as they were learned."""
        facts = with_gold(facts, ballots)
        if len(ballots.item) * ballots.classes > _MOST_NUMBERS:
            return super().refit(ballots, facts, skill, prior)
        start = first_parameters(facts, ballots.classes, self.prior_weight)
        skill, parts = prior, _Parts.none(start, ballots)
        iteration, moved = 0, np.inf
        while iteration < _MOST_ITERATIONS and moved > _STANDSTILL:
            shown = parts.shown(self.fitting(skill, ballots))
            found = prior + self.counted(shown, ballots)
            moved = float((np.abs(found - skill).sum(axis=1) / found.sum(axis=1)).max(initial=0.0))
            skill, parts, iteration = found, parts.towards(shown), iteration + 1
        state = replayed(self, ballots, facts, skill)
        return Refitted(state, skill, iteration, converged=moved <= _STANDSTILL)


@dataclass(frozen=True)
class _Parts:
    """What each answer has added to its item. Class first: numpy is several times slower along a short axis."""

    start: Array  # (classes, items)
    ballots: Ballots
    part: Array  # (classes, answers)
    rest: Array  # (classes, answers) what is believed of the item without the answer

    @classmethod
    def none(cls, start: Array, ballots: Ballots) -> "_Parts":
        columns = np.ascontiguousarray(start.T)
        return cls(columns, ballots, np.zeros((len(columns), len(ballots.item))), columns[:, ballots.item])

    def shown(self, fitting: Array) -> Array:
        """P(z_a = k), shape (classes, answers)."""
        shown = self.rest * fitting
        return np.asarray(shown / reduce(np.add, shown))

    def towards(self, shown: Array) -> "_Parts":
        """The parts half-way to those that `shown` amounts to, by the moments of a Dirichlet (`moments.matched`)."""
        total = reduce(np.add, self.rest)
        others = total - self.rest
        pairs = reduce(np.add, (self.rest + 2 * shown) * others)
        spread = reduce(np.add, shown * (1 - shown))
        matched = (self.rest + shown) * (pairs / (pairs + (total + 2) * spread))
        part = self.part + _DAMPING * (matched - self.rest - self.part)
        item = [sum_by(self.ballots.item, of_class, self.ballots.items) for of_class in part]
        whole = (self.start + np.stack(item))[:, self.ballots.item]
        return _Parts(self.start, self.ballots, part, np.maximum(whole - part, _LEAST))
