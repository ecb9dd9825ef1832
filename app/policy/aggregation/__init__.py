"""The aggregation family: what is the final label, and how sure are we?"""

from app.policy.aggregation.ballots import Ballots, Consensus
from app.policy.aggregation.base import Aggregation
from app.policy.aggregation.majority import Majority

AnyAggregation = Majority

__all__ = [
    "Aggregation",
    "AnyAggregation",
    "Ballots",
    "Consensus",
    "Majority",
]
