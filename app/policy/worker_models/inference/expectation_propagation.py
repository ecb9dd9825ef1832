"""Fit the workers of a job in which opinions on an item are divided, by expectation propagation."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import reduce
from typing import ClassVar

import numpy as np

from app.policy.core.arrays import Array
from app.policy.core.ballots import Ballots, sum_by
from app.policy.core.belief import Belief, ItemContext, State
from app.policy.worker_models.base import Refitted, with_gold, with_opinions
from app.policy.worker_models.inference.answer_replay import replayed
from app.policy.worker_models.inference.counted_votes import DirichletShares
from app.policy.worker_models.inference.dirichlet_skills import DirichletSkills
from app.policy.worker_models.inference.moment_matching import row_sum

_MAX_ITERATIONS = 50
_CONVERGED = 3e-3  # change of a skill, relative to the answers behind it
_DAMPING = 0.5  # all answers of an item move at once; undamped they overshoot together
_MIN_PARAMETER = 0.05  # once an answer is removed: an approximation may remove more than it added
_MAX_SIZE = 10_000_000  # answers times classes: about 600 MB and twenty seconds


class OpinionShares(DirichletShares, DirichletSkills):
    """Models in which an item has shares theta ~ Dirichlet, and z ~ theta is what a perfect worker would have said.

    `refit` estimates the skills from all answers at once. For each answer a, with `rest` what is believed of its item
    without it (expectation propagation: Minka, UAI 2001),

        P(z_a = k) ~ rest_k E P(answer a | z = k, worker),    part_a = matched(rest, P(z_a)) - rest,
        item = start + its answers' parts,    skill of j = prior_j + what P(z_a) says of the answers of j,

    in turns until no skill moves by more than 0.3 % of the answers behind it. Then the answers are replayed with these
    skills, so that the state is what it would be had the skills been known from the start. While skills are estimated,
    a source's opinion counts as an answer, its favourite label. Afterwards it counts as `prior_weight` votes, as far as
    the source is believed.

    The mean field of the same model is worse: there an answer confirms itself, because the shares that judge it contain
    it, and items follow whatever busy workers say. With 4 answers per item on RTE it gave .760 (one-coin) and .855
    (two-coin); this gives .878 and .875, and a majority .805 (ten draws, ties count one half). With all 10 answers they
    are equal.
    """

    fits_skills: ClassVar[bool] = True

    def start(self, context: ItemContext, classes: int) -> State:
        alpha = self.first_parameters(context, classes)
        return State(np.zeros_like(alpha), alpha)

    def read(self, state: State, context: ItemContext) -> Belief:
        weights = self.weights(state.model_state, context)
        return Belief(state.votes, weights, row_sum(weights)[:, 0], state.model_state, context)

    @abstractmethod
    def answer_likelihood(self, skill: Array, ballots: Ballots) -> Array:
        """P(answer a | a perfect worker would say class k), shape (classes, answers)."""

    @abstractmethod
    def skill_counts(self, truth: Array, ballots: Ballots) -> Array:
        """What all answers add to the skills if P(z_a = k) = truth[k, a], shape (workers, parameters)."""

    def refit(self, ballots: Ballots, context: ItemContext, skill: Array, prior: Array) -> Refitted:
        """With more than ten million answers times classes, skills stay as they were learned."""
        context = with_gold(context, ballots)
        if len(ballots.item) * ballots.classes > _MAX_SIZE:
            return super().refit(ballots, context, skill, prior)
        said = ballots.with_favourites(ballots.answered | context.known)
        if said is not ballots:
            context = replace(context, prior=None)
        start = self.first_parameters(context, ballots.classes)
        skill, parts = prior, _Parts.none(start, said)
        iteration, moved = 0, np.inf
        while iteration < _MAX_ITERATIONS and moved > _CONVERGED:
            truth = parts.truth(self.answer_likelihood(skill, said))
            found = prior + self.skill_counts(truth, said)
            moved = float((np.abs(found - skill).sum(axis=1) / found.sum(axis=1)).max(initial=0.0))
            skill, parts, iteration = found, parts.damped_step(truth), iteration + 1
        state = replayed(self, ballots, with_opinions(self, context, ballots, skill), skill)
        return Refitted(state, skill, iteration, converged=moved <= _CONVERGED)


@dataclass(frozen=True)
class _Parts:
    """What each answer has added to its item. Classes are the first axis: numpy is slower along a short last one."""

    start: Array  # (classes, items)
    ballots: Ballots
    part: Array  # (classes, answers)
    rest: Array  # (classes, answers) the item's parameters without this answer

    @classmethod
    def none(cls, start: Array, ballots: Ballots) -> "_Parts":
        columns = np.ascontiguousarray(start.T)
        return cls(columns, ballots, np.zeros((len(columns), len(ballots.item))), columns[:, ballots.item])

    def truth(self, likelihood: Array) -> Array:
        """P(z_a = k), shape (classes, answers)."""
        joint = self.rest * likelihood
        return np.asarray(joint / reduce(np.add, joint))

    def damped_step(self, truth: Array) -> "_Parts":
        """The parts half-way to those that follow from P(z_a) = `truth`, by the moments of a Dirichlet."""
        total = reduce(np.add, self.rest)
        others = total - self.rest
        pairs = reduce(np.add, (self.rest + 2 * truth) * others)
        spread = reduce(np.add, truth * (1 - truth))
        matched = (self.rest + truth) * (pairs / (pairs + (total + 2) * spread))
        part = self.part + _DAMPING * (matched - self.rest - self.part)
        item = [sum_by(self.ballots.item, of_class, self.ballots.items) for of_class in part]
        whole = (self.start + np.stack(item))[:, self.ballots.item]
        return _Parts(self.start, self.ballots, part, np.maximum(whole - part, _MIN_PARAMETER))
