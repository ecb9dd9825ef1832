"""What every requirement answers: is this label good enough, and how many more votes could make it so."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.belief import PSEUDO_VOTE, Belief, two_strongest
from app.policy.core.decision import Reason
from app.policy.core.lookahead import FreshLookahead, Lookahead
from app.policy.core.policy import Policy, Uses
from app.policy.quality.calibration import Calibration
from app.policy.worker_models.base import WorkerModel

HORIZON = 64  # votes to look ahead where there is no formula; an item that needs more is practically hopeless
_MOST_ROWS = 1024  # items times numbers of votes that are looked at together
_TINY = 1e-300  # instead of no votes at all, by which nothing can be divided


class Requirement(Policy, ABC):
    """When an item's label is good enough to stop.

    A new requirement must define `satisfied` and `reason`. Everything else follows from them; `shortfalls` by a formula
    makes it faster, and so does `uses`.
    """

    picks_a_class: ClassVar[bool] = True  # False: it asks for a number of answers, whatever they say

    @property
    def uses(self) -> Uses:
        """What it depends on besides votes and the worker model; by default everything."""
        return Uses.COST | Uses.OPEN_ASSIGNMENTS | Uses.NUMBER | Uses.PRICE

    @abstractmethod
    def satisfied(self, belief: Belief) -> Mask:
        """Which items are good enough, shape (items,)."""

    @abstractmethod
    def reason(self, belief: Belief, item: int) -> Reason:
        """Why this item is, or is not, good enough."""

    def certainty(self, belief: Belief) -> Array:
        """How likely the result is right, by the model, shape (items,): the confidence that people see."""
        return belief.certainty

    def winner(self, belief: Belief) -> Index:
        """The class that is accepted where the requirement holds, shape (items,); -1 where several are equally good."""
        return belief.winner

    def shortfalls(self, lookahead: Lookahead) -> Array:
        """The fewest further votes, all for class c, that make c the accepted label; shape (items, classes).

        Accepted means that the requirement holds and c leads alone: a shared lead belongs to no class, so the order of
        the classes does not matter. This default adds votes for c one by one, up to the horizon. Of many classes that
        nobody has voted for, the likeliest stands for those that cannot be nearer (`Lookahead.contenders`).
        """
        contenders = lookahead.contenders
        return contenders.per_class(self._add_votes_one_by_one(lookahead.each_contender, contenders.label))

    @property
    def refers_doubt(self) -> bool:
        """Whether items that stay in doubt are left to trusted workers, who are not asked for votes then."""
        return False

    @property
    def extra_votes(self) -> float | None:
        """The votes that every class has from the start in what it compares; None: it compares no counts."""
        return None

    def counts(self, belief: Belief) -> Array:
        """The votes that completeness is about, extra votes included, shape (items, classes)."""
        return belief.weights + (PSEUDO_VOTE if self.extra_votes is None else self.extra_votes)

    def missing(self, lookahead: Lookahead) -> Array:
        """The votes that class c lacks to be accepted, as `counts` counts them; shape (items, classes).

        This is what completeness is made of. `shortfalls` are whole answers of the next worker instead, which is the
        same only where every vote weighs one.
        """
        return lookahead.shortfalls(self)

    def shortfall(self, lookahead: Lookahead) -> Array:
        """The fewest further votes that could satisfy the requirement, shape (items,).

        It is enough to look at votes that all go to one class: in every requirement, moving a vote from another class
        to the final leader never makes a satisfied item unsatisfied.
        """
        fewest = lookahead.shortfalls(self).min(axis=1)
        return np.where(self.satisfied(lookahead.now), 0.0, np.maximum(fewest, 1.0))

    def fewest_labels(self, model: WorkerModel, classes: int) -> int:
        """How many answers an item needs if new workers all agree; 0 where its cost or a random draw decides.

        On an item without answers all classes are alike, so looking at one class is enough.

        >>> from app.policy.requirements import Ratio
        >>> from app.policy.worker_models import Anonymous
        >>> Ratio(min_ratio=4).fewest_labels(Anonymous(), 1000)
        3
        """
        if self.uses & (Uses.COST | Uses.NUMBER):
            return 0
        return int(self.shortfall(FreshLookahead.of_one_item(model, classes))[0])

    def answers_to_come(self, lookahead: Lookahead) -> Array:
        """How many further answers to expect, shape (items,): the shortfall, where no better estimate is known."""
        return self.shortfall(lookahead)

    def progress(self, lookahead: Lookahead) -> Array:
        """The expected completeness in real answers, from 0 to 1: the progress that people see."""
        real = lookahead.now.total
        if lookahead.state.votes.shape[1] == 1:  # one estimate: nothing else can win
            return np.asarray(real / np.maximum(real + self.shortfall(lookahead), 1))
        race, shortfalls, rows = race_of_two(lookahead, self), lookahead.shortfalls(self), np.arange(len(real))
        towards_leader, towards_runner_up = (
            real / np.maximum(real + shortfalls[rows, label], 1) for label in (race.leader, race.runner_up)
        )
        expected = race.leader_wins * towards_leader + (1 - race.leader_wins) * towards_runner_up
        return np.where(self.satisfied(lookahead.now), 1.0, np.clip(expected, 0.0, 1.0))

    def not_worth_asking(self, belief: Belief) -> Mask:
        """Which items to give up because no label is good enough and further answers do not pay; shape (items,)."""
        return np.zeros(len(belief.votes), dtype=bool)

    def calibrated(self, calibration: Calibration, *, favourable: bool = False) -> "Requirement":  # noqa: ARG002
        """The same requirement where confidence is not accuracy; unchanged unless it asks for a probability."""
        return self

    def _add_votes_one_by_one(self, lookahead: Lookahead, label: Index) -> Array:
        """The fewest further votes for label[i] that make it the accepted label of item i, shape (items,).

        Several numbers of votes are looked at together, more and more of them, while not too many items are pending.
        """
        needed, pending = np.full(len(label), float(HORIZON)), np.arange(len(label))
        ahead, further, at_once = lookahead, 0, 1
        while True:
            wanted = np.tile(label[pending], at_once)
            met = (self.satisfied(ahead.now) & ahead.now.leads_alone(wanted)).reshape(at_once, -1)
            found = met.any(axis=0)
            needed[pending[found]] = further + met.argmax(axis=0)[found]
            further += at_once
            if found.all() or further >= HORIZON:
                return needed
            left = np.flatnonzero(~found)
            last = ahead.rows((at_once - 1) * len(pending) + left)
            pending = pending[left]
            at_once = min(2 * further, max(_MOST_ROWS // len(pending), 1), HORIZON - further)
            ahead = last.after_each(label[pending], at_once)


def fewest_votes(met: Callable[[Array], Mask], items: int, at_once: int = 2, most: int = HORIZON) -> Array:
    """The fewest votes for which `met` is true, for each item, below `most`; `most` where none is; shape (items,).

    `met` gets several numbers of votes at once, (numbers, items). Each round narrows the range by the factor `at_once`,
    of which `most` is a power; two is bisection. This is right because more votes for a class make it more likely,
    except for workers who are wrong more often than right.

    >>> needed = np.array([0.0, 5.0, 63.0, 99.0])
    >>> [fewest_votes(lambda votes: votes >= needed, 4, at_once).tolist() for at_once in (2, 8)]
    [[0.0, 5.0, 63.0, 64.0], [0.0, 5.0, 63.0, 64.0]]
    """
    enough, low, step = met(np.zeros((1, items)))[0], np.zeros(items), float(most)
    while step > 1 and not enough.all():
        step /= at_once
        missed = ~met(low + step * np.arange(1, at_once)[:, None])
        low = low + step * missed.cumprod(axis=0).sum(axis=0)
    return np.where(enough, 0.0, low + 1)


def expected_completeness(lookahead: Lookahead, requirement: Requirement) -> Array:
    """V of Requallo (Li et al., WSDM 2016, Eq. 1 and 2), shape (items,).

    With a >= b the votes of the two strongest classes, pseudo-votes included, n = a + b, and r_1, r_2 the votes needed
    in all when the stronger, or the weaker, is to win:

        P = a/n + b/r_1 if a > b, else 1/2;        V = P n/r_1 + (1 - P) n/r_2.

    Where votes are weighted, so are a, b and r (Eq. 10). V reaches 1 when the requirement is met. With more votes the
    printed formula exceeds 1, because r(x) stays the same while n grows. Here r is never below n, so V stays at 1. Open
    items never have that many votes.

    >>> from app.policy.core.belief import ItemContext, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.worker_models import Anonymous
    >>> votes = State(np.array([[2.0, 0.0], [3.0, 0.0]]), np.empty((2, 0)))  # with pseudo-votes 3:1, as in Example 3
    >>> lookahead = Lookahead.of(Anonymous(), votes, ItemContext.plain(2))
    >>> expected_completeness(lookahead, Ratio(min_ratio=4)).round(4).tolist()
    [0.7733, 1.0]
    """
    race = race_of_two(lookahead, requirement)
    return race.leader_wins * race.n / race.r_leader + (1 - race.leader_wins) * race.n / race.r_runner_up


class RaceOfTwo(NamedTuple):
    """The two strongest classes of each item, shape (items,) each."""

    leader: Index
    runner_up: Index
    leader_wins: Array  # P of Eq. 2
    n: Array  # the votes of both
    r_leader: Array  # the votes of both that are needed if the leader is to win
    r_runner_up: Array


def race_of_two(lookahead: Lookahead, requirement: Requirement) -> RaceOfTwo:
    """What Eq. 1 and 2 are made of; Eq. 10 where votes are weighted."""
    counts, missing = requirement.counts(lookahead.now), requirement.missing(lookahead)
    rows = np.arange(len(counts))
    leader, runner_up = two_strongest(counts)
    a, b = counts[rows, leader], counts[rows, runner_up]
    r_leader, r_runner_up = (np.maximum(a + b + missing[rows, label], _TINY) for label in (leader, runner_up))
    leader_wins = np.where(a > b, a / np.maximum(a + b, _TINY) + b / r_leader, 0.5)
    return RaceOfTwo(leader, runner_up, leader_wins, a + b, r_leader, r_runner_up)
