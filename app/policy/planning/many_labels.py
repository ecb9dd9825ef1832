"""When another answer no longer pays with more than two labels: the strategy of Gao et al. with a Dirichlet prior.

A status is the votes of an item in falling order, without those that are 0: labels differ by their votes alone.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from app.policy.core.arrays import Array, Index, IntArray, Mask
from app.policy.core.equal_rows import different_rows
from app.policy.planning.cost_sensitive import ROUNDING, Prior, Strategy, best_strategy

_MOST_STATUSES = 10_000  # that a table holds: all of up to 55 votes for three labels, 40 for four, 25 for 25 or more
_MOST_VOTES = 200  # more than such a table has
_LARGEST_KEY = 2**62
Status = tuple[int, ...]


def chance_of_leader(prior: Prior, votes: Array) -> Array:
    """How likely the label with the most votes is right, by votes of shape (items, labels).

    Of K labels each is right with probability 1 / K. How often workers choose each label is Dirichlet with a for the
    right one and b / (K - 1) for each other one, so that they are right as often as under Beta(a, b), and repeat each
    other's errors. Then the odds of two labels with m and l votes are those of Gao et al., with b / (K - 1) for b:

        P(k is right | v)  is proportional to  G(v_k),    G(n) = Gamma(a + n) / Gamma(b / (K - 1) + n).

    >>> chance_of_leader(Prior(6, 2), np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])).round(4).tolist()
    [0.75, 0.4615]
    """
    return np.asarray(special.softmax(_log_weight(prior, votes.shape[1], votes), axis=1).max(axis=1))


@dataclass(frozen=True)
class StatusTable:
    """All statuses up to a number of votes, and where an answer leads from each: what no loss changes."""

    position: dict[Status, int]  # in order of the number of votes
    level: list[int]  # where the statuses with 0, 1, ... votes begin, and where the last ones end
    last: IntArray  # (statuses with most votes, 2) the votes of their two strongest labels
    last_right: Array  # (statuses with most votes,) how likely one of these two is right
    income: Array  # (statuses,) MI: by how much one more answer raises the chance that the leader is right
    begin: Index  # (statuses but those with most votes,) where the outcomes of each begin
    outcome: Index  # (outcomes,) the position of the status after an answer
    chance: Array  # (outcomes,) of that answer

    def solve(self, beyond: Strategy, most_answers: int | None) -> Array:
        """The expected number of answers to come under the strategy with the largest profit, shape (statuses,).

        `beyond` is the strategy for items with as many votes as the table has, by their two strongest labels. What it
        gains counts as far as one of the two is right. Up to 12 votes, a table of twenty times as many statuses decided
        alike in all but 1 of 1,578 cases (3, 4 and 10 labels, losses of 100, 300 and 1,000 answers).
        """
        gain, answers = np.zeros((2, len(self.income)))
        end = len(self.level) - 2
        if most_answers is None or end < most_answers:
            first, second = self.last.T
            gain[self.level[end] :] = beyond.gain_of_going_on(first, second) * self.last_right
            answers[self.level[end] :] = beyond.answers_to_come(first, second)
        for total in range(min(end, most_answers or end) - 1, -1, -1):
            here = slice(self.level[total], self.level[total + 1])
            ends = self.begin[here.stop] if here.stop < len(self.begin) else len(self.outcome)
            outcomes = slice(self.begin[here.start], ends)
            to, chance, begin = self.outcome[outcomes], self.chance[outcomes], self.begin[here] - outcomes.start
            going_on = self.income[here] * beyond.loss - 1 + np.add.reduceat(chance * gain[to], begin)
            on = going_on > ROUNDING
            gain[here] = np.where(on, going_on, 0.0)
            answers[here] = np.where(on, 1 + np.add.reduceat(chance * answers[to], begin), 0.0)
        return answers


@dataclass(frozen=True)
class ManyLabelStrategy:
    """Where to stop; votes have the shape (items, labels), money is in costs of an answer."""

    table: StatusTable
    goes_on: Mask  # (statuses,)
    two_strongest: Strategy  # for items with more votes than the table has
    most_answers: int | None

    def stopped(self, votes: Array) -> Mask:
        """Whether to stop at these votes, shape (items,)."""
        different, position = _different(-np.sort(-votes, axis=1))
        return ~np.array([self._goes_on_at(tuple(row[: np.count_nonzero(row)])) for row in different])[position]

    def answers_after(self, votes: Array) -> Array:
        """How many further answers to expect at these votes, shape (items,)."""
        answers = self.table.solve(self.two_strongest, self.most_answers)
        different, position = _different(-np.sort(-votes, axis=1))
        expected = []
        for status in (tuple(row[: np.count_nonzero(row)]) for row in different):
            known = self.table.position.get(status)
            first, second = np.array((*status, 0, 0)[:2])
            beyond = self.two_strongest.answers_to_come(first, second) if self._goes_on_at(status) else 0.0
            expected.append(float(beyond if known is None else answers[known]))
        return np.array(expected)[position]

    def shortfalls(self, votes: Array) -> Array:
        """The fewest further votes for a label alone with which it is accepted, shape (items, labels)."""
        order = np.argsort(-votes, axis=1, kind="stable")
        different, position = _different(np.take_along_axis(votes, order, axis=1))
        needed, found = np.array([self._needed(row) for row in different]), np.empty_like(votes)
        np.put_along_axis(found, order, needed[position], axis=1)
        return found

    def _needed(self, row: list[int]) -> list[float]:
        """The shortfall of each label of one item, with votes in falling order."""
        found: dict[int, float] = {}
        for own in dict.fromkeys(row):
            others = row.copy()
            others.remove(own)
            others = others[: np.count_nonzero(others)]
            more = max(others[0] + 1 - own, 0) if others else 0
            while not own + more or self._goes_on_at((own + more, *others)):
                more += 1
            found[own] = float(more)
        return [found[own] for own in row]

    def _goes_on_at(self, status: Status) -> bool:
        known = self.table.position.get(status)
        if known is not None:
            return bool(self.goes_on[known])
        if self.most_answers is not None and sum(status) >= self.most_answers:
            return False
        first, second = np.array((*status, 0, 0)[:2])
        return not self.two_strongest.stops(first, second)


@lru_cache(maxsize=4096)  # 10 kB each
def many_label_strategy(prior: Prior, labels: int, loss: float, most_answers: int | None = None) -> ManyLabelStrategy:
    """The strategy with the largest expected profit, for a loss in units of the cost of an answer.

        P'(v) = max(0, MI(v) L + sum_j Pr(j) P'(v with one more vote for j) - 1).

    One table has all statuses with up to as many votes as 10,000 statuses allow. It serves all losses: each takes one
    pass over its 35,000 outcomes. With as many votes or more, the two strongest labels decide as if there were no
    others: an answer that is one of the two is right as often as under Beta(a, b / (K - 1)).

    >>> strategy = many_label_strategy(Prior(6, 2), 3, 30.0)
    >>> votes = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    >>> strategy.stopped(votes).tolist()
    [False, False, True, False]
    """
    table = _status_table(prior, labels)
    beyond = best_strategy(Prior(prior.a, prior.b / (labels - 1)), loss)
    return ManyLabelStrategy(table, table.solve(beyond, most_answers) > 0, beyond, most_answers)


@lru_cache(maxsize=8)
def _status_table(prior: Prior, labels: int) -> StatusTable:
    """All statuses, found from fewer votes to more: the partitions of each number of votes into at most K parts."""
    weight = _relative_weight(prior, labels)
    position: dict[Status, int] = {(): 0}
    level, begin, outcome = [0], list[int](), list[int]()
    chance, income = list[float](), list[float]()
    here: list[Status] = [()]
    while True:
        level.append(len(position))
        following: dict[Status, int] = {}
        outcomes: list[tuple[int, int, float]] = []
        for status in here:
            chances = _outcomes(prior, labels, status, weight)
            income.append(_income(labels, status, chances[0][1], weight))
            for after, likely in chances:
                following.setdefault(after, len(position) + len(following))
                outcomes.append((position[status], following[after], likely))
        if len(position) + len(following) > _MOST_STATUSES:
            last = np.array([(*status, 0, 0)[:2] for status in here])
            right = np.array(weight)[last].sum(axis=1) / [_sum_of(labels, status, weight) for status in here]
            return StatusTable(
                position, level, last, right, np.array(income), np.array(begin), np.array(outcome), np.array(chance)
            )
        position |= following
        here = list(following)
        for at, to, likely in outcomes:
            if at == len(begin):
                begin.append(len(outcome))
            outcome.append(to)
            chance.append(likely)


def _different(votes: Array) -> tuple[list[list[int]], Index]:
    """The different rows of votes, and for each row its position among them."""
    base, labels = int(votes.max(initial=0)) + 1, votes.shape[1]
    if base**labels > _LARGEST_KEY:
        different, position = different_rows(votes)
        return different.astype(int).tolist(), position
    key = votes.astype(np.int64) @ base ** np.arange(labels, dtype=np.int64)  # 20 times faster than comparing rows
    _, first, position = np.unique(key, return_index=True, return_inverse=True)
    return votes[first].astype(int).tolist(), position


def _outcomes(prior: Prior, labels: int, status: Status, weight: list[float]) -> list[tuple[Status, float]]:
    """The statuses to which one more answer leads, those for the leader first, with their chances."""
    wrong = prior.b / (labels - 1)
    unvoted, total = labels - len(status), _sum_of(labels, status, weight)
    found = []
    for votes in dict.fromkeys(status):
        at = status.index(votes)
        each = wrong + votes + (prior.a - wrong) * weight[votes] / total
        found.append(((*status[:at], votes + 1, *status[at + 1 :]), status.count(votes) * each))
    if unvoted:
        found.append(((*status, 1), unvoted * (wrong + (prior.a - wrong) * weight[0] / total)))
    asked = prior.a + prior.b + sum(status)
    return [(after, likely / asked) for after, likely in found]


def _income(labels: int, status: Status, chance: float, weight: list[float]) -> float:
    """MI, where `chance` is that of an answer for a leader: 0 unless leaders are tied, as with two labels.

    An answer leaves the expectation of each label's probability as it is. So what it raises is the difference between
    the new leader and one of those that it was tied with.
    """
    votes, tied = (status[0], status.count(status[0])) if status else (0, labels)
    more = weight[votes + 1] - weight[votes]
    return chance * (tied - 1) / tied * more / (_sum_of(labels, status, weight) + more)


def _sum_of(labels: int, status: Status, weight: list[float]) -> float:
    """By what the weights are divided to become probabilities."""
    return sum(weight[votes] for votes in status) + (labels - len(status)) * weight[0]


def _relative_weight(prior: Prior, labels: int) -> list[float]:
    """G(n) / G(0) for as many votes as a table may have."""
    found = _log_weight(prior, labels, np.arange(_MOST_VOTES + 1.0))
    weight: list[float] = np.exp(found - found[0]).tolist()
    return weight


def _log_weight(prior: Prior, labels: int, votes: Array) -> Array:
    return np.asarray(special.gammaln(prior.a + votes) - special.gammaln(prior.b / (labels - 1) + votes))
