"""Requallo's completeness, for every requirement that knows its shortfall."""

import numpy as np

from app.policy.belief import Array
from app.policy.prospect import Prospect
from app.policy.requirements.base import Requirement
from app.policy.shares import two_strongest


def expected_completeness(prospect: Prospect, requirement: Requirement) -> Array:
    """V of Requallo (Li et al., WSDM 2016, Eq. 1 and 2), shape (items,).

    With a >= b the two strongest classes, pseudo-votes included, n = a + b, and r_1, r_2 the votes needed in all
    when the stronger, or the weaker, is to win:

        P = a/n + b/r_1 if a > b, else 1/2;        V = P n/r_1 + (1 - P) n/r_2.

    It reaches 1 when the requirement is met, and passes 1 beyond it: a finished item must be taken out explicitly.
    """
    leader_wins, n, r_leader, r_runner_up = chance_and_needs(prospect, requirement)
    return leader_wins * n / r_leader + (1 - leader_wins) * n / r_runner_up


def progress(prospect: Prospect, requirement: Requirement) -> Array:
    """The same expectation counted in real votes, so that it starts at 0 and ends at 1: for people to look at."""
    leader_wins, n, r_leader, r_runner_up = chance_and_needs(prospect, requirement)
    real = prospect.now.total
    towards_leader = real / np.maximum(real + r_leader - n, 1)
    towards_runner_up = real / np.maximum(real + r_runner_up - n, 1)
    expected = leader_wins * towards_leader + (1 - leader_wins) * towards_runner_up
    return np.where(requirement.satisfied(prospect.now), 1.0, np.clip(expected, 0.0, 1.0))


def chance_and_needs(prospect: Prospect, requirement: Requirement) -> tuple[Array, Array, Array, Array]:
    """P of Eq. 2 for the leader, the votes n of the two strongest, and r for the leader and for the runner-up."""
    counts = prospect.now.counts
    rows = np.arange(len(counts))
    leader, runner_up = two_strongest(counts)
    a, b = counts[rows, leader], counts[rows, runner_up]
    shortfalls = requirement.shortfalls(prospect)
    r_leader = a + b + shortfalls[rows, leader]
    r_runner_up = a + b + shortfalls[rows, runner_up]
    leader_wins = np.where(a > b, a / (a + b) + b / r_leader, 0.5)
    return leader_wins, a + b, r_leader, r_runner_up
