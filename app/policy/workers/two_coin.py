"""Every worker has two accuracies, one per class: some see cats everywhere."""

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from app.policy.aggregation.ballots import Ballots, sum_by
from app.policy.belief import Array, Belief, Facts, State
from app.policy.workers.base import one_more_vote
from app.policy.workers.counted_votes import first_parameters
from app.policy.workers.leave_one_out import DividedOpinions
from app.policy.workers.moments import matched, row_sum
from app.policy.workers.one_coin import belief_of_parameters
from app.policy.workers.skill_rows import expected

_BINARY = 2


class TwoCoin(DividedOpinions):
    """An accuracy per class, rho_y ~ Beta(c_y, d_y) where a perfect worker would say y (Chen et al., ICML 2013, 4).

        Pr(answer 0) = theta rho_0 + (1 - theta)(1 - rho_1).

    With m_y = c_y / (c_y + d_y) and theta the item's share of class 0, the answer 0 has probability
    theta m_0 + (1 - theta)(1 - m_1). The item is then a mixture of Beta(a + 1, b) and Beta(a, b + 1) with weights
    a m_0 and b (1 - m_1); rho_0 is one of Beta(c_0 + 1, d_0) and of itself unchanged, rho_1 one of Beta(c_1, d_1 + 1)
    and itself, by the chance that a perfect worker would have said 0. All are matched by their moments, so the
    order of the answers matters a little. A skill is the row (c_0, d_0, c_1, d_1); two classes only.

    A worker who says 0 whatever is shown tells nothing by it:

    >>> model, facts = TwoCoin(), Facts.plain(1)
    >>> always_0 = np.array([[9.0, 1.0, 1.0, 9.0]])
    >>> state, _ = model.learn(model.start(facts, 2), facts, always_0, np.array([0]))
    >>> state.evidence.round(6).tolist()
    [[1.0, 1.0]]
    """

    kind: Literal["two-coin"] = "two-coin"
    most_labels: ClassVar[int] = 2
    tells_classes_apart: ClassVar[bool] = True

    def newcomer(self, classes: int) -> Array:
        _refuse_all_but_two(classes)
        return np.array(self.prior * _BINARY)

    def dirichlets(self, skill: Array) -> Array:
        """Row y is right with answer y: of the second pair, the wrong answers are the answers 0."""
        return np.asarray(skill[:, [[0, 1], [3, 2]]])

    def packed(self, dirichlets: Array) -> Array:
        return dirichlets.reshape(len(dirichlets), _BINARY**2)[:, [0, 1, 3, 2]]

    def start(self, facts: Facts, classes: int) -> State:
        _refuse_all_but_two(classes)
        alpha = first_parameters(facts, classes, self.prior_weight)
        return State(np.zeros_like(alpha), alpha)

    def read(self, state: State, facts: Facts) -> Belief:
        return belief_of_parameters(state, facts, self.prior_weight)

    def chances(self, belief: Belief, skill: Array) -> Array:
        share = belief.alpha / row_sum(belief.alpha)
        mean = expected(self.dirichlets(skill))
        return np.asarray(share[:, :1] * mean[:, 0] + share[:, 1:] * mean[:, 1])

    def learn(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> tuple[State, Array]:
        rows, shown = np.arange(len(label)), _perfect_answers(state, self.dirichlets(skill), label)
        learned = np.empty_like(skill)
        for truth in range(_BINARY):
            coin = np.zeros((len(label), _BINARY))
            coin[rows, (label != truth).astype(np.intp)] = shown[:, truth]
            learned[:, 2 * truth : 2 * truth + 2] = matched(skill[:, 2 * truth : 2 * truth + 2], coin)
        return self.answered(state, facts, skill, label), learned

    def answered(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> State:  # noqa: ARG002  the prior is in the evidence
        evidence = matched(state.evidence, _perfect_answers(state, self.dirichlets(skill), label))
        return State(one_more_vote(state.votes, label), evidence)

    def fitting(self, skill: Array, ballots: Ballots) -> Array:
        rows = expected(self.dirichlets(skill))
        return np.stack([rows[:, truth].ravel()[_cell(ballots)] for truth in range(_BINARY)])

    def counted(self, shown: Array, ballots: Ballots) -> Array:
        cells = ballots.workers * _BINARY
        rows = [sum_by(_cell(ballots), of_truth, cells).reshape(ballots.workers, _BINARY) for of_truth in shown]
        return self.packed(np.stack(rows, axis=1))


def _cell(ballots: Ballots) -> npt.NDArray[np.intp]:
    """The place of each answer in a flat (workers, answers) array, shape (answers,)."""
    return ballots.worker * _BINARY + ballots.label


def _perfect_answers(state: State, rows: Array, label: npt.NDArray[np.intp]) -> Array:
    """How likely a perfect worker would have said each class, given this answer of a worker with these rows."""
    fitting = state.evidence * expected(rows)[np.arange(len(label)), :, label]
    return np.asarray(fitting / row_sum(fitting))


def _refuse_all_but_two(classes: int) -> None:
    if classes != _BINARY:
        raise ValueError(f"two-coin tells exactly two labels apart, not {classes}; confusion takes any number")
