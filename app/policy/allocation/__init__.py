"""The allocation family: what is one more label on this item worth?"""

from typing import Annotated

from pydantic import Field

from app.policy.allocation.base import Allocation, JobContext
from app.policy.allocation.by_value import AccuracyAtCost, ByValue
from app.policy.allocation.crowdbudget import CrowdBudget
from app.policy.allocation.cvar_knowledge_gradient import CvarKnowledgeGradient
from app.policy.allocation.dispatch import Dispatch
from app.policy.allocation.information import Information
from app.policy.allocation.knowledge_gradient import KnowledgeGradient
from app.policy.allocation.label_uncertainty import LabelUncertainty
from app.policy.allocation.optimistic_knowledge_gradient import OptimisticKnowledgeGradient
from app.policy.allocation.random_choice import RandomChoice
from app.policy.allocation.requallo import Requallo
from app.policy.allocation.round_robin import RoundRobin

AnyAllocation = Annotated[
    Information
    | Requallo
    | OptimisticKnowledgeGradient
    | KnowledgeGradient
    | CvarKnowledgeGradient
    | LabelUncertainty
    | RoundRobin
    | RandomChoice
    | Dispatch
    | CrowdBudget
    | ByValue,
    Field(discriminator="kind"),
]

__all__ = [
    "AccuracyAtCost",
    "Allocation",
    "AnyAllocation",
    "ByValue",
    "CrowdBudget",
    "CvarKnowledgeGradient",
    "Dispatch",
    "Information",
    "JobContext",
    "KnowledgeGradient",
    "LabelUncertainty",
    "OptimisticKnowledgeGradient",
    "RandomChoice",
    "Requallo",
    "RoundRobin",
]
