"""How much certainty each possible next answer would add."""

import numpy as np  # noqa: F401  for the doctest

from app.policy.core.arrays import Array
from app.policy.core.lookahead import Lookahead


def certainty_gains(lookahead: Lookahead) -> Array:
    """R_c = h(P after the answer c) - h(P now), shape (items, classes) (Chen et al., ICML 2013, Eq. 9 and 10).

    h(P) is the probability of the most likely class: `Belief.certainty`.

    >>> from app.policy.core.belief import ItemContext, State
    >>> from app.policy.worker_models import Anonymous
    >>> state = State(np.array([[1.0, 0.0]]), np.empty((1, 0)))  # Beta(2, 1): 3/4, then 7/8 or 1/2
    >>> certainty_gains(Lookahead.of(Anonymous(), state, ItemContext.plain(1))).tolist()
    [[0.125, -0.25]]
    """
    answers = lookahead.answers
    after = lookahead.each_answer.after(answers.label).now.certainty
    return answers.per_class(after - lookahead.now.certainty[answers.item])
