"""Learn how far off and how precise each worker is, where answers are numbers."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from app.policy.core.arrays import Array, Index
from app.policy.core.ballots import Ballots
from app.policy.core.belief import Belief, ItemContext, State
from app.policy.core.number_belief import NumberBelief
from app.policy.core.tuning import TUNED
from app.policy.worker_models.base import Refitted, WorkerModel
from app.policy.worker_models.inference.number_fit import NumberCrowd, Unknown, fit_numbers
from app.policy.worker_models.inference.number_parts import NumberParts, packed, unpacked

_KNOWN = 1e-9  # of the range: the deviation of a true number that is known


class NumberModel(WorkerModel):
    """Learn a bias and a precision per worker, and a difficulty per item (after Raykar et al., JMLR 2010, section 5).

        x = t + b + noise,    b ~ N(0, v) of the worker,    noise ~ N(0, 1 / (precision of the worker x easiness)),

    or, with probability `typing_errors`, any number of the range. The truth t is normal with the mean and the variance
    of the range before any answer; precision and easiness have Gamma distributions. An answer moves t and b as in a
    Kalman filter, weighed by the probability that it is no typing error, and each gets a normal with the moments of
    the mixture. So without typing errors the update is exact where precisions are known:

        1 / Var t <- 1 / Var t + 1 / (n + Var b),    n = the noise variance.

    A refit exchanges such messages between all items and workers until they agree, and learns from the crowd how far
    biases spread and how precise workers are: a new worker is like the crowd.

    An answer of 70, on a scale of 100, by a worker without bias and with a deviation of 10:

    >>> model, context = NumberModel(low=0, high=100, typing_errors=0), ItemContext.plain(1)
    >>> skill = np.array([[0.0, 0.0, 1e9, 1e11]])
    >>> state, _ = model.learn(model.start(context, 1), context, skill, np.array([70.0]))
    >>> belief = model.read(state, context)
    >>> belief.mean.round(4).tolist(), (belief.deviation**2).round(4).tolist()  # 1 / (12 / 100^2 + 1 / 10^2)
    ([67.8571], [89.2857])
    """

    kind: Literal["number"] = "number"
    answer_kinds: ClassVar[frozenset[str]] = frozenset({"number"})
    low: Annotated[float, Field(description="The smallest value; always that of the job's answer")] = 0.0
    high: Annotated[float, Field(description="The largest value; always that of the job's answer")] = 1.0
    typing_errors: Annotated[
        float, Field(ge=0, le=0.5, description="How often an answer is a typing error: any number of the range")
    ] = 0.002

    def newcomer(self, classes: int) -> Array:  # noqa: ARG002  one estimate
        tuned = TUNED.numbers
        bias, noise = ((share * self._range) ** 2 for share in (tuned.bias, tuned.noise))
        return np.array([0.0, bias, tuned.noise_workers, tuned.noise_workers * noise])

    def start(self, context: ItemContext, classes: int) -> State:  # noqa: ARG002  one estimate
        items, easiness = len(context.cost), TUNED.numbers.easiness
        mean, variance = np.full(items, (self.low + self.high) / 2), np.full(items, self._range**2 / 12)
        if context.gold_value is not None:
            mean = np.where(context.known, context.gold_value, mean)
            variance = np.where(context.known, (_KNOWN * self._range) ** 2, variance)
        return State(np.zeros((items, 1)), np.column_stack([mean, variance, np.full((items, 2), easiness)]))

    def read(self, state: State, context: ItemContext) -> NumberBelief:
        mean, variance = state.model_state[:, 0], state.model_state[:, 1]
        return NumberBelief(state.votes, mean, np.sqrt(variance), (self.low, self.high), context)

    def chances(self, belief: Belief, skill: Array) -> Array:  # noqa: ARG002  there is one class
        return np.ones_like(belief.votes)

    def learn(self, state: State, context: ItemContext, skill: Array, label: Index) -> tuple[State, Array]:  # noqa: ARG002  the prior is in the state
        parts = self._parts(state, skill, label)
        return _after(parts, state), packed(parts.next_bias, parts.next_precision)

    def after_answer(self, state: State, context: ItemContext, skill: Array, label: Index) -> State:  # noqa: ARG002  the prior is in the state
        return _after(self._parts(state, skill, label), state)

    def refit(self, ballots: Ballots, context: ItemContext, skill: Array, prior: Array) -> Refitted:  # noqa: ARG002  from the prior
        before = NumberCrowd(*unpacked(self.start(context, 1).model_state), *unpacked(prior))
        new = (prior == self.newcomer(1)).all(axis=1)
        unknown = Unknown(items=~context.known, workers=new)
        found = fit_numbers(ballots, before, unknown, self.typing_errors, (self.low, self.high))
        crowd = found.crowd
        state = State(ballots.votes(), packed(crowd.truth, crowd.easiness))
        return Refitted(state, packed(crowd.bias, crowd.precision), found.iterations, found.converged)

    def optimistic(self, skill: Array, bonus: float) -> Array:
        """The skill with a noise smaller by the factor exp(-bonus / sqrt(n)), n twice the shape."""
        better = skill.copy()
        better[:, 3] *= np.exp(-bonus / np.sqrt(2 * skill[:, 2]))
        return better

    def information(self, state: State, skill: Array) -> Array:
        """What an answer says about the true number, in nats: 1/2 log(1 + Var t / (n + Var b))."""
        return np.asarray(np.log1p(state.model_state[:, 1] * self.precision_gained(state, skill)) / 2)

    def precision_gained(self, state: State, skill: Array) -> Array:
        """By how much an answer of this worker raises 1 / Var t, shape (items,): 1 / (n + Var b)."""
        _, easiness = unpacked(state.model_state)
        bias, precision = unpacked(skill)
        return np.asarray(1 / (precision.inverse * easiness.inverse + bias.variance))

    @property
    def _range(self) -> float:
        return self.high - self.low

    def _parts(self, state: State, skill: Array, value: Array | Index) -> NumberParts:
        truth, easiness = unpacked(state.model_state)
        bias, precision = unpacked(skill)
        return NumberParts(
            np.asarray(value, dtype=np.float64), truth, bias, precision, easiness, self.typing_errors, 1 / self._range
        )


def _after(parts: NumberParts, state: State) -> State:
    """The items after these answers."""
    return State(state.votes + 1, packed(parts.next_truth, parts.next_easiness))
