"""Let the median of what is believed be the label, for labels in order."""

from dataclasses import replace
from typing import Literal

from app.policy.answers.around_model import AroundModel
from app.policy.core.belief import Belief, ItemContext, State


class ByMedian(AroundModel):
    """A worker model whose beliefs name the median label."""

    kind: Literal["by-median"] = "by-median"

    def read(self, state: State, context: ItemContext) -> Belief:
        return replace(self.inner.read(state, context), by_median=True)
