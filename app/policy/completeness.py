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

    It reaches 1 when the requirement is met. Beyond that the printed formula passes 1, for r(x) stays while n grows;
    here r is never below n, and V stays at 1. Open items are not beyond it, and the engine takes the others out.

    >>> from app.policy.belief import Facts, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.workers import Anonymous
    >>> votes = State(np.array([[2.0, 0.0], [3.0, 0.0]]), np.empty((2, 0)))  # with pseudo-votes 3:1, as in Example 3
    >>> expected_completeness(Prospect.of(Anonymous(), votes, Facts.plain(2)), Ratio(min_ratio=4)).round(4).tolist()
    [0.7733, 1.0]
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
    shortfalls = prospect.once(id(requirement), requirement.shortfalls)
    r_leader = a + b + shortfalls[rows, leader]
    r_runner_up = a + b + shortfalls[rows, runner_up]
    leader_wins = np.where(a > b, a / (a + b) + b / r_leader, 0.5)
    return leader_wins, a + b, r_leader, r_runner_up
