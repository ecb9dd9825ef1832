"""What every requirement can say: is this answer good enough, and how many more votes would make it so."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from app.domain import Reason
from app.policy.belief import Array, Belief, Mask
from app.policy.member import Member
from app.policy.prospect import Prospect
from app.policy.shares import Index

HORIZON = 64  # votes looked ahead where there is no formula; an item that needs more is as good as hopeless


class Requirement(Member, ABC):
    """When an item's answer is good enough to stop."""

    picks_a_class: ClassVar[bool] = True  # it holds for a class, and not just for a number of answers

    @property
    def by_votes_alone(self) -> bool:
        """Items with equal votes are judged alike; not so where an item's cost or luck plays a part."""
        return True

    @property
    def steady(self) -> bool:
        """Once it holds, further votes for the leader keep it; not so where luck is drawn anew with each vote."""
        return True

    @abstractmethod
    def satisfied(self, belief: Belief) -> Mask:
        """Which items are good enough, shape (items,)."""

    def winner(self, belief: Belief) -> Index:
        """The class that is accepted where the requirement holds, shape (items,); -1 where several are equally good."""
        return belief.winner

    @abstractmethod
    def reason(self, belief: Belief, item: int) -> Reason:
        """Why this item is, or is not, good enough."""

    def shortfalls(self, prospect: Prospect) -> Array:
        """The fewest further votes, all for class c, that make c the accepted answer; shape (items, classes).

        Accepted means that the requirement holds and c leads alone: a shared lead is nobody's answer, so that the
        classes' order plays no part. Here by walking: add votes for c one by one, up to the horizon. Members that
        have a formula use it.
        """
        classes = prospect.state.votes.shape[1]
        return np.stack([self._walk(prospect, c) for c in range(classes)], axis=1)

    def shortfall(self, prospect: Prospect) -> Array:
        """The fewest further votes that could satisfy the requirement, shape (items,).

        No way there is shorter than giving every vote to one class: for each member, moving a vote from another
        class to the one that leads in the end never breaks what holds.
        """
        fewest = prospect.once(id(self), self.shortfalls).min(axis=1)
        return np.where(self.satisfied(prospect.now), 0.0, np.maximum(fewest, 1.0))

    def answers_to_come(self, prospect: Prospect) -> Array:
        """How many further answers to expect, shape (items,): the shortfall, where no better estimate is known."""
        return self.shortfall(prospect)

    def not_worth_asking(self, belief: Belief) -> Mask:
        """Which items are to be given up, with no answer good enough and none worth asking for; shape (items,)."""
        return np.zeros(len(belief.votes), dtype=bool)

    def _walk(self, prospect: Prospect, c: int) -> Array:
        needed = np.full(len(prospect.state.votes), float(HORIZON))
        pending = np.ones(len(needed), dtype=bool)
        for further in range(HORIZON):
            met = pending & self.satisfied(prospect.now) & prospect.now.leads_alone(c)
            needed[met] = further
            pending &= ~met
            if not pending.any():
                break
            prospect = prospect.after_all(c)
        return needed
