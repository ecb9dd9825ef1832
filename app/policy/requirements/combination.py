"""What `all` and `any` have in common."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from app.policy.requirements.base import Requirement

if TYPE_CHECKING:
    from app.policy.requirements import AnyRequirement


class Combination(Requirement):
    """Several requirements taken together."""

    of: Annotated["tuple[AnyRequirement, ...]", Field(min_length=1, max_length=8, description="What is combined")]

    @property
    def by_votes_alone(self) -> bool:
        return all(member.by_votes_alone for member in self.of)

    @property
    def steady(self) -> bool:
        return all(member.steady for member in self.of)
