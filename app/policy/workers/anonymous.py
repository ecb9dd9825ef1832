"""One worker is as good as another: votes are only counted."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from app.policy.belief import Array, Belief
from app.policy.dirichlet import chance_of_being_largest


class Anonymous(BaseModel):
    """Every vote counts the same, whoever gives it (Chen et al., ICML 2013, section 2).

    An item's votes v under a uniform prior leave Dirichlet(v + 1) over the shares of the classes in an endless
    crowd; the true class is the one with the largest share.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["anonymous"] = "anonymous"

    def posterior(self, belief: Belief) -> Array:
        """P(class c is the true one), shape (items, classes).

        >>> Anonymous().posterior(Belief.of([4, 1])).round(4).tolist()
        [[0.8906, 0.1094]]
        """
        return chance_of_being_largest(belief.smoothed)
