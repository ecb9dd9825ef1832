"""Allocations whose order does not divide by an item's cost."""

from app.policy.allocation.base import Allocation, JobContext
from app.policy.core.arrays import Array
from app.policy.core.lookahead import Lookahead


class CostAgnosticAllocation(Allocation):
    """The value is the priority."""

    def priority(self, lookahead: Lookahead, job: JobContext) -> Array:
        return self.value(lookahead, job)


def asked(lookahead: Lookahead) -> Array:
    """Answers that an item has or that are under way, shape (items,)."""
    return lookahead.now.total + lookahead.context.open_assignments
