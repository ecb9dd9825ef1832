"""The requirement family: when is an item's answer good enough?"""

from typing import Annotated

from pydantic import Field

from app.policy.requirements.all_of import AllOf
from app.policy.requirements.base import Requirement
from app.policy.requirements.count import Count
from app.policy.requirements.ratio import Ratio

AnyRequirement = Annotated[Ratio | Count | AllOf, Field(discriminator="kind")]
AllOf.model_rebuild(_types_namespace={"AnyRequirement": AnyRequirement})

__all__ = ["AllOf", "AnyRequirement", "Count", "Ratio", "Requirement"]
