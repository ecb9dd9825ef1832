"""Ask the best pair of item and worker, after a short trial, and with second opinions."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.policy.core.arrays import Array, IntArray, Mask
from app.policy.core.belief import ItemContext
from app.policy.core.randomness import uniform
from app.policy.core.tuning import TUNED
from app.policy.worker_choice.base import CandidateWorkers, WorkerChoice
from app.policy.worker_models.base import WorkerModel

_SECOND_OPINIONS = np.array([3])  # keeps these random numbers apart from those of gold


class Pair(WorkerChoice):
    """Ask the pair of item and worker with the highest value per cost (Chen et al., ICML 2013, section 4).

        argmax over (i, w) of  value(i after an answer of w) / (cost_i price_w),    accuracy_w + optimism / sqrt(n_w).

    The value is the allocation's, for an answer of a worker with that skill on the best item for this worker. The cost
    is the item's cost times the worker's price.

    **Trial.** While every item has at most one answer, worker skill cannot be estimated. So a few items, drawn at
    random, are a trial: until each has three answers, an answer on them is valued 20 times as high. They come first,
    but not at any price. Workers who agree there are asked more, and the first answers on all other items come from
    better workers. Unless `trial` says how many, a tenth of the items are on trial, or fewer, so that their second and
    third answers take no more than a tenth of what the budget buys at a worker's price of 1: with money for one answer
    per item, a twentieth.

    **Second opinions.** Agreement does not prove accuracy: workers who copy one source always agree, and a job that
    trusts them asks nobody else and never finds out. So, once there are as many answers as items, one assignment in
    five goes to a worker who is drawn at random from the less trusted half and charges no more than the worker who
    would have been asked. The worker model weighs these answers like all others. In simulated crowds in which half of
    the workers copy, a job without second opinions was less accurate than round-robin by .09 to .12. On the public set
    on which second opinions cost most, they cost up to .035 of accuracy. Set `second_opinions` to 0 if workers cannot
    copy.

    >>> none = np.zeros(3)
    >>> known = {"worth": np.array([0.1, 0.4, 0.3]), "price": np.array([1.0, 10.0, 1.0]), "accuracy": np.full(3, 0.8)}
    >>> three = CandidateWorkers.with_worth(agreed_answers=none, scored_answers=none, number=np.arange(3), **known)
    >>> Pair().choose_from(three, seed=1, turn=1, items=10)
    2
    """

    kind: Literal["pair"] = "pair"
    optimism: Annotated[
        float,
        Field(
            ge=0,
            le=10,
            description="A worker's accuracy is taken to be higher by this / sqrt(answers given), so that workers with "
            "few answers get a chance; 0 takes it as estimated",
        ),
    ] = 0.1
    trial: Annotated[
        Annotated[float, Field(ge=0, le=1)] | None,
        Field(
            description="The share of the items that are asked first, to find out how good the workers are; 0: none; "
            "null: a tenth, or less where the budget buys fewer than two answers per item"
        ),
    ] = None
    trial_answers: Annotated[
        int, Field(ge=1, le=100, description="Answers that each of those items gets before the other items are asked")
    ] = 3
    second_opinions: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="The share of the assignments that go to less trusted workers once there are as many answers "
            "as items, to notice workers who only agree with each other; 0 always asks the best",
        ),
    ] = 0.2

    def score(self, candidates: CandidateWorkers) -> Array:
        return candidates.best

    def assumed_skill(self, model: WorkerModel, skill: Array) -> Array:
        return model.optimistic(skill, self.optimism)

    @property
    def has_trial(self) -> bool:
        return self.trial != 0

    def trial_share(self, paid_for: Array | float) -> Array | float:
        """`trial`, or the default described above.

        >>> Pair().trial_share(np.array([0.0, 1.0, 1.5, 2.0, np.inf])).round(6).tolist()
        [0.0, 0.05, 0.075, 0.1, 0.1]
        """
        if self.trial is not None:
            return self.trial
        further = max(self.trial_answers - 1, 1)
        return np.minimum(TUNED.pair.trial_budget * np.asarray(paid_for) / further, TUNED.pair.trial_share)

    def on_trial(self, context: ItemContext, answers: Array, paid_for: Array) -> Mask | None:
        if self.trial == 0:
            return None
        drawn = uniform(context.seed, context.number) < self.trial_share(paid_for)
        return np.asarray(drawn & (answers < self.trial_answers))

    def wants_second_opinion(self, seed: int, turn: IntArray, items: int) -> Mask:
        return np.asarray((turn > items) & (uniform(seed, turn, _SECOND_OPINIONS) < self.second_opinions))


AS_PUBLISHED = Pair(optimism=0, trial=0, second_opinions=0)  # the paper's rule: the best pair and nothing else
