"""Answers as sparse matrices, so that every E step and every M step is one product."""

import numpy as np
from scipy import sparse

from app.policy.core.ballots import Ballots

Incidence = sparse.csr_array[np.float64]


def by_worker(ballots: Ballots) -> Incidence:
    """How often worker j gave class c to item i, shape (items * classes, workers).

    Times the workers' weights it gives the weighted votes; its transpose times the posterior gives the right answers.

    >>> by_worker(Ballots.of(item=[0, 0, 1], worker=[0, 1, 1], label=[1, 1, 0])).toarray()
    array([[0., 0.],
           [1., 1.],
           [0., 1.],
           [0., 0.]])
    """
    return _count(ballots.cell, ballots.worker, (ballots.items * ballots.classes, ballots.workers))


def by_worker_and_label(ballots: Ballots) -> Incidence:
    """How often worker j gave class l to item i, shape (items, workers * classes).

    Times log P(l | worker, truth) it gives the log-likelihoods; its transpose times the posterior the confusion counts.

    >>> by_worker_and_label(Ballots.of(item=[0, 0, 1], worker=[0, 1, 1], label=[1, 1, 0])).toarray()
    array([[0., 1., 0., 1.],
           [0., 0., 1., 0.]])
    """
    column = ballots.worker * ballots.classes + ballots.label
    return _count(ballots.item, column, (ballots.items, ballots.workers * ballots.classes))


def _count(row: np.ndarray, column: np.ndarray, shape: tuple[int, int]) -> Incidence:
    return sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape)
