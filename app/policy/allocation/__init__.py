"""The allocation family: what is one more label on this item worth?"""

from app.policy.allocation.base import Allocation, Circumstances
from app.policy.allocation.requallo import Requallo

AnyAllocation = Requallo

__all__ = ["Allocation", "AnyAllocation", "Circumstances", "Requallo"]
