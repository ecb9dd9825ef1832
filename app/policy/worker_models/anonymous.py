"""Count votes, and treat all workers alike."""

from typing import ClassVar, Literal

import numpy as np  # noqa: F401  for the doctest

from app.policy.core.belief import ItemContext, State  # noqa: F401  for the doctest
from app.policy.worker_models.inference.counted_votes import CountedVotes


class Anonymous(CountedVotes):
    """Count every vote the same, whoever gives it (Chen et al., ICML 2013, section 2).

        shares ~ Dirichlet(p + v),    P(class c is the true one) = P(share c is the largest).

    An item's votes v and p extra votes of each label (`pseudo_votes`) give a Dirichlet over the shares of the classes
    in an infinite crowd; the true class is the one with the largest share. With p = 1 the prior is uniform, with 1/2 it
    is Jeffreys'. An item's own prior adds `prior_weight` votes, split as it says.

    >>> model, context = Anonymous(), ItemContext.plain(1)
    >>> model.read(State(np.array([[4.0, 1.0]]), np.empty((1, 0))), context).posterior.round(4).tolist()
    [[0.8906, 0.1094]]
    """

    kind: Literal["anonymous"] = "anonymous"
    treats_labels_alike: ClassVar[bool] = True
