"""Two accuracies per worker, one for each of two classes."""

from typing import ClassVar, Literal

import numpy as np

from app.policy.core.arrays import Array, Index
from app.policy.core.ballots import Ballots, sum_by
from app.policy.core.belief import Belief, ItemContext, State, one_more_vote
from app.policy.worker_models.inference.dirichlet_skills import expected
from app.policy.worker_models.inference.expectation_propagation import OpinionShares
from app.policy.worker_models.inference.moment_matching import match_moments, row_sum

_BINARY = 2


class TwoCoin(OpinionShares):
    """Learn one accuracy per worker for each of two labels (Chen et al., ICML 2013, section 4).

        Pr(answer 0) = theta rho_0 + (1 - theta)(1 - rho_1).

    rho_y ~ Beta(c_y, d_y) is the accuracy where a perfect worker would say y. With m_y = c_y / (c_y + d_y) and theta
    the item's share of class 0, the answer 0 has probability theta m_0 + (1 - theta)(1 - m_1). The item is then a
    mixture of Beta(a + 1, b) and Beta(a, b + 1) with weights a m_0 and b (1 - m_1). If a perfect worker would have said
    0, rho_0 becomes Beta(c_0 + 1, d_0), otherwise rho_1 becomes Beta(c_1, d_1 + 1): each is a mixture of that and of
    its former distribution. Each mixture is replaced by one distribution with the same moments, so the order of the
    answers matters a little. A skill is the row (c_0, d_0, c_1, d_1); two classes only.

    An answer 0 of a worker who always says 0 has no information:

    >>> model, context = TwoCoin(), ItemContext.plain(1)
    >>> always_0 = np.array([[9.0, 1.0, 1.0, 9.0]])
    >>> state, _ = model.learn(model.start(context, 2), context, always_0, np.array([0]))
    >>> state.model_state.round(6).tolist()
    [[1.0, 1.0]]
    """

    kind: Literal["two-coin"] = "two-coin"
    most_labels: ClassVar[int] = 2

    def newcomer(self, classes: int) -> Array:
        _refuse_all_but_two(classes)
        return np.array(self.prior * _BINARY)

    def dirichlets(self, skill: Array) -> Array:
        """Row y is right with answer y: in the second pair, the wrong answers are the answers 0."""
        return np.asarray(skill[:, [[0, 1], [3, 2]]])

    def packed(self, dirichlets: Array) -> Array:
        return dirichlets.reshape(len(dirichlets), _BINARY**2)[:, [0, 1, 3, 2]]

    def start(self, context: ItemContext, classes: int) -> State:
        _refuse_all_but_two(classes)
        return super().start(context, classes)

    def chances(self, belief: Belief, skill: Array) -> Array:
        share = belief.alpha / row_sum(belief.alpha)
        mean = expected(self.dirichlets(skill))
        return np.asarray(share[:, :1] * mean[:, 0] + share[:, 1:] * mean[:, 1])

    def learn(self, state: State, context: ItemContext, skill: Array, label: Index) -> tuple[State, Array]:
        rows, truth = np.arange(len(label)), _perfect_answers(state, self.dirichlets(skill), label)
        learned = np.empty_like(skill)
        for y in range(_BINARY):
            coin = np.zeros((len(label), _BINARY))
            coin[rows, (label != y).astype(np.intp)] = truth[:, y]
            learned[:, 2 * y : 2 * y + 2] = match_moments(skill[:, 2 * y : 2 * y + 2], coin)
        return self.after_answer(state, context, skill, label), learned

    def after_answer(self, state: State, context: ItemContext, skill: Array, label: Index) -> State:  # noqa: ARG002  the prior is in the state
        model_state = match_moments(state.model_state, _perfect_answers(state, self.dirichlets(skill), label))
        return State(one_more_vote(state.votes, label), model_state)

    def answer_likelihood(self, skill: Array, ballots: Ballots) -> Array:
        rows = expected(self.dirichlets(skill))
        return np.stack([rows[:, y].ravel()[_cell(ballots)] for y in range(_BINARY)])

    def skill_counts(self, truth: Array, ballots: Ballots) -> Array:
        cells = ballots.workers * _BINARY
        rows = [sum_by(_cell(ballots), of_truth, cells).reshape(ballots.workers, _BINARY) for of_truth in truth]
        return self.packed(np.stack(rows, axis=1))


def _cell(ballots: Ballots) -> Index:
    """The position of each answer in a flat (workers, answers) array, shape (answers,)."""
    return ballots.worker * _BINARY + ballots.label


def _perfect_answers(state: State, rows: Array, label: Index) -> Array:
    """How likely a perfect worker would have said each class, given this answer of a worker with these rows."""
    likely = state.model_state * expected(rows)[np.arange(len(label)), :, label]
    return np.asarray(likely / row_sum(likely))


def _refuse_all_but_two(classes: int) -> None:
    if classes != _BINARY:
        raise ValueError(f"two-coin takes exactly two labels, not {classes}; use confusion for more")
