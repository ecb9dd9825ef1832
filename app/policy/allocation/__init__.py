"""The allocation family: what is one more label on this item worth?"""

from typing import Annotated

from pydantic import Field

from app.policy.allocation.base import Allocation, Circumstances
from app.policy.allocation.crowdbudget import CrowdBudget
from app.policy.allocation.dispatch import Dispatch
from app.policy.allocation.information import Information
from app.policy.allocation.knowledge_gradient import KnowledgeGradient
from app.policy.allocation.label_uncertainty import LabelUncertainty
from app.policy.allocation.optimistic_knowledge_gradient import OptimisticKnowledgeGradient
from app.policy.allocation.random_choice import RandomChoice
from app.policy.allocation.requallo import Requallo
from app.policy.allocation.round_robin import RoundRobin
from app.policy.allocation.value_at_risk import ValueAtRiskKnowledgeGradient

AnyAllocation = Annotated[
    Information
    | Requallo
    | OptimisticKnowledgeGradient
    | KnowledgeGradient
    | ValueAtRiskKnowledgeGradient
    | LabelUncertainty
    | RoundRobin
    | RandomChoice
    | Dispatch
    | CrowdBudget,
    Field(discriminator="kind"),
]

__all__ = [
    "Allocation",
    "AnyAllocation",
    "Circumstances",
    "CrowdBudget",
    "Dispatch",
    "Information",
    "KnowledgeGradient",
    "LabelUncertainty",
    "OptimisticKnowledgeGradient",
    "RandomChoice",
    "Requallo",
    "RoundRobin",
    "ValueAtRiskKnowledgeGradient",
]
