"""Every worker has two accuracies, one per class: some see cats everywhere."""

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from app.policy.belief import Array, Belief, Facts, State
from app.policy.workers.base import SkillPrior, WorkerModel, one_more_vote
from app.policy.workers.counted_votes import PriorWeight, prior_votes
from app.policy.workers.moments import matched, row_sum
from app.policy.workers.one_coin import belief_of_parameters

_BINARY = 2


class TwoCoin(WorkerModel):
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
    prior: SkillPrior = (4.0, 1.0)
    prior_weight: PriorWeight = 2.0

    def newcomer(self, classes: int) -> Array:
        _refuse_all_but_two(classes)
        return np.array(self.prior * _BINARY)

    def start(self, facts: Facts, classes: int) -> State:
        _refuse_all_but_two(classes)
        votes = np.zeros((len(facts.cost), classes))
        return State(votes, votes + 1 + prior_votes(facts, self.prior_weight))

    def read(self, state: State, facts: Facts) -> Belief:
        return belief_of_parameters(state, facts, self.prior_weight)

    def chances(self, belief: Belief, skill: Array) -> Array:
        share = belief.alpha / row_sum(belief.alpha)
        mean = _expected_rows(skill)
        return np.asarray(share[:, :1] * mean[:, 0] + share[:, 1:] * mean[:, 1])

    def learn(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> tuple[State, Array]:
        rows, shown = np.arange(len(label)), _perfect_answers(state, skill, label)
        learned = np.empty_like(skill)
        for truth in range(_BINARY):
            coin = np.zeros((len(label), _BINARY))
            coin[rows, (label != truth).astype(np.intp)] = shown[:, truth]
            learned[:, 2 * truth : 2 * truth + 2] = matched(skill[:, 2 * truth : 2 * truth + 2], coin)
        return self.answered(state, facts, skill, label), learned

    def answered(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> State:  # noqa: ARG002  the prior is in the evidence
        evidence = matched(state.evidence, _perfect_answers(state, skill, label))
        return State(one_more_vote(state.votes, label), evidence)

    def accuracy(self, skill: Array) -> Array:
        """The mean over the two classes."""
        mean = _expected_rows(skill)
        return np.asarray((mean[:, 0, 0] + mean[:, 1, 1]) / 2)


def _perfect_answers(state: State, skill: Array, label: npt.NDArray[np.intp]) -> Array:
    """How likely a perfect worker would have said each class, given this worker's answer; shape (items, 2)."""
    fitting = state.evidence * _expected_rows(skill)[np.arange(len(label)), :, label]
    return np.asarray(fitting / row_sum(fitting))


def _expected_rows(skill: Array) -> Array:
    """E P(answer k where a perfect worker says y), shape (items, y, k)."""
    right, wrong = skill[:, 0::2], skill[:, 1::2]
    total = right + wrong
    hit, miss = right / total, wrong / total
    return np.stack([np.stack([hit[:, 0], miss[:, 0]], axis=1), np.stack([miss[:, 1], hit[:, 1]], axis=1)], axis=1)


def _refuse_all_but_two(classes: int) -> None:
    if classes != _BINARY:
        raise ValueError(f"two-coin tells exactly two labels apart, not {classes}; confusion takes any number")
