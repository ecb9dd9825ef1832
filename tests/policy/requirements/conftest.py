"""The requirements that keep the shared laws; add a new kind here."""

import pytest

from app.policy.core.policy import Uses
from app.policy.requirements import AllOf, AnyOf, Count, Margin, OnlineMajority, Posterior, Profit, Ratio, Significance

KINDS = [
    Ratio(min_ratio=4),
    Ratio(min_ratio=1.5),
    Ratio(min_ratio=4, pseudo_votes=0),
    Ratio(min_ratio=3, pseudo_votes=2.5),
    Significance(alpha=0.2),
    Significance(alpha=0.1, pseudo_votes=0),
    Significance(alpha=0.2, pseudo_votes=0.5),
    Significance(alpha=0.1875),
    Margin(c=1.5, epsilon=0.1),
    Margin(c=2, epsilon=1),
    Margin(c=1, epsilon=0),
    Margin(c=0, epsilon=0),
    Margin(c=1.5, epsilon=0.2, rounding="random"),
    Margin(c=0.5, epsilon=0.5, rounding="random"),  # is satisfied at ties, where no label wins
    Posterior(min_probability=0.9),
    Posterior(min_probability=0.890625),
    Profit(value=10, loss=30),
    Profit(value=10, loss=4),
    Profit(value=10, loss=10, prior=(3, 2)),
    Profit(value=10, loss=50, expert={"price": 9, "accuracy": 0.99}),
    OnlineMajority(labels=1),
    OnlineMajority(labels=4),
    OnlineMajority(labels=7),
    Count(labels=1),
    Count(labels=4),
    AllOf(of=(Ratio(min_ratio=3), Count(labels=4))),
    AllOf(of=(OnlineMajority(labels=5), Margin(c=1, epsilon=0.1))),
    AllOf(of=(Margin(c=1.5, epsilon=0.2, rounding="random"), Count(labels=3))),
    # For the item of the shortfall tests, a random draw undoes the margin of four votes to none when the fifth arrives.
    AllOf(of=(Margin(c=2.5, epsilon=0.05, rounding="random"), Count(labels=5))),
    AllOf(of=(Profit(value=10, loss=10), Count(labels=3))),
    AnyOf(of=(Significance(alpha=0.1), Count(labels=6))),
    AnyOf(of=(Margin(c=1.5, epsilon=0.2, rounding="random"), Ratio(min_ratio=5))),
    AnyOf(of=(AllOf(of=(Count(labels=2), Posterior(min_probability=0.8))), Count(labels=5))),
]


# A vote for the leader keeps a satisfied item satisfied, unless a new random draw for every vote can undo it.
STEADY = [kind for kind in KINDS if Uses.NUMBER not in kind.uses]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.model_dump_json(), scope="module")
def requirement(request):
    return request.param


@pytest.fixture(params=STEADY, ids=lambda kind: kind.model_dump_json(), scope="module")
def steady_requirement(request):
    return request.param
