"""What the next answer may lead to, each different outcome once."""

import numpy as np

from app.policy.belief import Array, IntArray
from app.policy.prospect import Prospect


def kinds_of_answers(prospect: Prospect) -> list[tuple[int, IntArray]]:
    """The first of each kind of possible answers, and those that lead to the same but for the names of the classes.

    Classes that nobody has voted for on any of these items, and of which the worker model says the same, differ only
    in name: of a thousand labels a handful of outcomes are left to look at.

    >>> from app.policy.belief import Facts, State
    >>> from app.policy.workers import Anonymous
    >>> state = State(np.array([[2.0, 0.0, 1.0, 0.0, 0.0]]), np.empty((1, 0)))
    >>> kinds = kinds_of_answers(Prospect.of(Anonymous(), state, Facts.plain(1)))
    >>> [(first, answers.tolist()) for first, answers in kinds]
    [(0, [0]), (1, [1, 3, 4]), (2, [2])]
    """
    namesake = prospect.namesakes
    return [(c, np.flatnonzero(namesake == c)) for c in np.unique(namesake).tolist()]


def rewards(prospect: Prospect) -> Array:
    """R_c = h(P after the answer c) - h(P now), shape (items, classes) (Chen et al., ICML 2013, Eq. 9 and 10).

    h(P) is the chance that the likeliest class is the true one: `Belief.certainty`.

    >>> from app.policy.belief import Facts, State
    >>> from app.policy.workers import Anonymous
    >>> state = State(np.array([[1.0, 0.0]]), np.empty((1, 0)))  # Beta(2, 1): 3/4, then 7/8 or 1/2
    >>> rewards(Prospect.of(Anonymous(), state, Facts.plain(1))).tolist()
    [[0.125, -0.25]]
    """
    gains = np.empty_like(prospect.state.votes)
    for c, answers in kinds_of_answers(prospect):
        gains[:, answers] = (prospect.after_all(c).now.certainty - prospect.now.certainty)[:, None]
    return gains
