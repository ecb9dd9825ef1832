"""The allocation family: what is one more label on this item worth?"""

from app.policy.allocation.base import Allocation
from app.policy.allocation.requallo import Requallo

AnyAllocation = Requallo

__all__ = ["Allocation", "AnyAllocation", "Requallo"]
