"""Average what two models say about the items.

Neither one accuracy per worker nor a row per true class is exactly true, and they err on different items. So `auto`
averages P(t) of both after a refit:

    P(t) = (1 - w) P(t | stage in force) + w P(t | other stage),

with w = 1/2 while one accuracy per worker is in force and w = 1/5 while rows are in force. Without it the
accuracy is the same on 14 public sets, but confidence is too high: where people work beside a model that is confidently
wrong about one kind of item, a job with three labels that asked for .90 was right with .85.
"""

import numpy as np

from app.policy.core.belief import State
from app.policy.core.tuning import TUNED

OTHER_SHARE = {0: TUNED.stages.share_of_rows, 1: TUNED.stages.share_of_one_accuracy}  # w, by the stage in force


def average_states(first: State, second: State, share: float) -> State:
    """The state whose probabilities are an average, with `share` for the second; states hold logarithms.

    >>> states = [State(np.zeros((1, 2)), np.log([[p, 1 - p]])) for p in (0.9, 0.4)]
    >>> np.exp(average_states(*states, share=0.2).model_state).round(6).tolist()
    [[0.8, 0.2]]
    """
    both = first.model_state + np.log(1 - share), second.model_state + np.log(share)
    return State(first.votes, np.logaddexp(*both))
