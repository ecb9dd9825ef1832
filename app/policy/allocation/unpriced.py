"""Allocations whose order has nothing to do with an item's cost."""

from typing import ClassVar

from app.policy.allocation.base import Allocation, Circumstances
from app.policy.belief import Array
from app.policy.prospect import Prospect


class Unpriced(Allocation):
    """The value is the priority. It hangs on more than votes: on what is out, on the item's number or its cost."""

    heeds_worker: ClassVar[bool] = False

    @property
    def by_votes_alone(self) -> bool:
        return False

    def priority(self, prospect: Prospect, circumstances: Circumstances) -> Array:
        return self.value(prospect, circumstances)


def asked(prospect: Prospect) -> Array:
    """Answers that an item has or that are out, shape (items,)."""
    return prospect.now.total + prospect.facts.in_flight
