"""The allocation family: what is one more label on this item worth?"""

from typing import Annotated

from pydantic import Field

from app.policy.allocation.base import Allocation, Circumstances
from app.policy.allocation.crowdbudget import CrowdBudget
from app.policy.allocation.dispatch import Dispatch
from app.policy.allocation.random_choice import RandomChoice
from app.policy.allocation.requallo import Requallo
from app.policy.allocation.round_robin import RoundRobin

AnyAllocation = Annotated[Requallo | RoundRobin | RandomChoice | Dispatch | CrowdBudget, Field(discriminator="kind")]

__all__ = [
    "Allocation",
    "AnyAllocation",
    "Circumstances",
    "CrowdBudget",
    "Dispatch",
    "RandomChoice",
    "Requallo",
    "RoundRobin",
]
