"""A worker model around another one: what it does not change, the other one does."""

from pydantic import SerializeAsAny

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.belief import Belief, ItemContext, State
from app.policy.worker_models.base import PosteriorAfter, WorkerModel


class AroundModel(WorkerModel):
    """Never a job's own model: an answer kind puts it around that, for decisions. Fits are made by the inner model."""

    inner: SerializeAsAny[WorkerModel]

    def newcomer(self, classes: int) -> Array:
        return self.inner.newcomer(classes)

    def start(self, context: ItemContext, classes: int) -> State:
        return self.inner.start(context, classes)

    def read(self, state: State, context: ItemContext) -> Belief:
        return self.inner.read(state, context)

    def chances(self, belief: Belief, skill: Array) -> Array:
        return self.inner.chances(belief, skill)

    def learn(self, state: State, context: ItemContext, skill: Array, label: Index) -> tuple[State, Array]:
        return self.inner.learn(state, context, skill, label)

    def after_answer(self, state: State, context: ItemContext, skill: Array, label: Index) -> State:
        return self.inner.after_answer(state, context, skill, label)

    def after_answers(self, state: State, context: ItemContext, skill: Array, label: Index, times: int) -> State:
        return self.inner.after_answers(state, context, skill, label, times)

    def posterior_after(self, state: State, skill: Array, label: Index) -> PosteriorAfter | None:
        return self.inner.posterior_after(state, skill, label)

    def believed(self, shares: Array, skill: Array) -> Array:
        return self.inner.believed(shares, skill)

    def stated_skill(self, accuracy: float, weight: float, classes: int) -> Array | None:
        return self.inner.stated_skill(accuracy, weight, classes)

    def score(self, skill: Array, agreed: Mask) -> Array:
        return self.inner.score(skill, agreed)

    def accuracy(self, skill: Array) -> Array:
        return self.inner.accuracy(skill)

    def interval(self, skill: Array) -> Array:
        return self.inner.interval(skill)

    def optimistic(self, skill: Array, bonus: float) -> Array:
        return self.inner.optimistic(skill, bonus)

    @property
    def scores_finished_items(self) -> bool:
        return self.inner.scores_finished_items
