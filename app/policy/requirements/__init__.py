"""The requirement family: when is an item's answer good enough?"""

from typing import Annotated

from pydantic import Field

from app.policy.requirements.all_of import AllOf
from app.policy.requirements.any_of import AnyOf
from app.policy.requirements.base import Requirement
from app.policy.requirements.count import Count
from app.policy.requirements.margin import Margin
from app.policy.requirements.online_majority import OnlineMajority
from app.policy.requirements.posterior import Posterior
from app.policy.requirements.precision import Precision
from app.policy.requirements.profit import Profit
from app.policy.requirements.ratio import Ratio
from app.policy.requirements.significance import Significance

AnyRequirement = Annotated[
    Ratio | Significance | Margin | Posterior | Profit | OnlineMajority | Count | Precision | AllOf | AnyOf,
    Field(discriminator="kind"),
]
AllOf.model_rebuild(_types_namespace={"AnyRequirement": AnyRequirement})
AnyOf.model_rebuild(_types_namespace={"AnyRequirement": AnyRequirement})

__all__ = [
    "AllOf",
    "AnyOf",
    "AnyRequirement",
    "Count",
    "Margin",
    "OnlineMajority",
    "Posterior",
    "Precision",
    "Profit",
    "Ratio",
    "Requirement",
    "Significance",
]
