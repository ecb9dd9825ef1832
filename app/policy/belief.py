"""What the answers so far say about each item: the small state that decides an item's future."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

PSEUDO_VOTE = 1.0  # one per class, so that no class ever stands at zero (Requallo, section 3.3)


@dataclass(frozen=True)
class Belief:
    """The votes of many items at once: row i of every array is item i."""

    votes: Array  # (items, classes) real answers

    @classmethod
    def of(cls, votes: npt.ArrayLike) -> "Belief":
        """One row of votes, or many.

        >>> Belief.of([3, 1]).votes
        array([[3., 1.]])
        """
        return cls(np.atleast_2d(np.asarray(votes, dtype=np.float64)))

    @property
    def total(self) -> Array:
        """Answers per item, shape (items,)."""
        return np.asarray(self.votes.sum(axis=1))

    @property
    def smoothed(self) -> Array:
        """Votes with one pseudo-vote per class, shape (items, classes)."""
        return self.votes + PSEUDO_VOTE

    def after(self, label: npt.NDArray[np.intp]) -> "Belief":
        """The belief once item i has received one more answer, `label[i]`."""
        votes = self.votes.copy()
        votes[np.arange(len(votes)), label] += 1
        return Belief(votes)


def strongest_other(counts: Array) -> Array:
    """For each class, the largest count among the other classes; shape (items, classes).

    >>> strongest_other(np.array([[5.0, 2.0, 3.0]]))
    array([[3., 5., 5.]])
    """
    ordered = np.sort(counts, axis=1)
    top, second = ordered[:, -1:], ordered[:, -2:-1]
    # Where the top is shared, the second equals it, so every class rightly sees the top.
    return np.where(counts == top, second, top)


def two_strongest(counts: Array) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The positions of the strongest and the second strongest class of each item; earlier classes win ties.

    >>> two_strongest(np.array([[1.0, 4.0, 2.0], [2.0, 2.0, 2.0]]))
    (array([1, 0]), array([2, 1]))
    """
    order = np.argsort(-counts, axis=1, kind="stable")
    return order[:, 0], order[:, 1]
