"""The allocation family: what is one more label on this item worth?"""

from typing import Annotated

from pydantic import Field

from app.policy.allocation.base import Allocation, Circumstances
from app.policy.allocation.information import Information
from app.policy.allocation.knowledge_gradient import KnowledgeGradient
from app.policy.allocation.label_uncertainty import LabelUncertainty
from app.policy.allocation.optimistic_knowledge_gradient import OptimisticKnowledgeGradient
from app.policy.allocation.requallo import Requallo
from app.policy.allocation.value_at_risk import ValueAtRiskKnowledgeGradient

AnyAllocation = Annotated[
    Requallo
    | OptimisticKnowledgeGradient
    | KnowledgeGradient
    | ValueAtRiskKnowledgeGradient
    | LabelUncertainty
    | Information,
    Field(discriminator="kind"),
]

__all__ = [
    "Allocation",
    "AnyAllocation",
    "Circumstances",
    "Information",
    "KnowledgeGradient",
    "LabelUncertainty",
    "OptimisticKnowledgeGradient",
    "Requallo",
    "ValueAtRiskKnowledgeGradient",
]
