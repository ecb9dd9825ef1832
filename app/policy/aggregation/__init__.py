"""The aggregation family: what is the final label, and how sure are we?"""

from app.policy.aggregation.majority import Majority

AnyAggregation = Majority

__all__ = ["AnyAggregation", "Majority"]
