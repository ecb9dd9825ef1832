"""Candidate workers for the tests of worker choices, and the list of choices; add a new one here."""

import numpy as np

from app.policy.worker_choice import CandidateWorkers, Pair, Pull, UpperConfidence

CHOICES = [Pull(), UpperConfidence(), Pair()]


def candidates(worth, price, agreed_answers=0.0, scored_answers=0.0, accuracy=0.8):
    """Workers with the value of the best item for each."""
    worth = np.asarray(worth, dtype=float)
    zero = np.zeros(len(worth))
    record = {
        "agreed_answers": zero + agreed_answers,
        "scored_answers": zero + scored_answers,
        "accuracy": zero + accuracy,
    }
    return CandidateWorkers.with_worth(price=zero + price, number=np.arange(len(worth)), worth=worth, **record)
