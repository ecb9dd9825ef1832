"""Give work to every worker who asks for it, except low-information workers."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from app.policy.core.arrays import Array, IntArray, Mask
from app.policy.core.policy import EVERY_KIND
from app.policy.core.tuning import TUNED
from app.policy.worker_choice.base import CandidateWorkers, WorkerChoice


class Pull(WorkerChoice):
    """Give work to workers in the order in which they ask for it, as on most platforms (Li et al., WSDM 2016).

        w is low-information if  n_w >= min_answers  and
        optimistic_w / price_w < min_information_share * sum over v of n_v expected_v / sum over v of n_v price_v.

    A worker who asks for work gets the item with the highest priority; if a request names several workers, the first
    one gets it. Workers whose answers give too little information for their price get no new work: on RTE four workers
    who guess gave more than a third of all answers. expected_w is the information (as in the allocation `information`)
    that an answer of w gives about a fresh item, under the skill of the last refit. So a worker who is nearly always
    wrong is not marked, because such answers give as much information as right ones. optimistic_w is the same with the
    accuracy moved by 1 / (2 sqrt(n_w)), one standard error of a coin, in the direction that gives more information.
    Every refit decides again. At most a fifth of the workers are marked, those with the least information first, so
    that a group that agrees with itself cannot exclude all others. Nobody is marked unless ten other workers have
    answered.

    >>> information, answers = np.array([1.1] * 10 + [0.01]), np.full(11, 30)
    >>> np.flatnonzero(Pull().low_information(information, answers)).tolist()
    [10]
    >>> np.flatnonzero(Pull().low_information(information[1:], answers[1:])).tolist()  # nine others are too few
    []
    """

    kind: Literal["pull"] = "pull"
    answer_kinds: ClassVar[frozenset[str]] = EVERY_KIND
    chooses: ClassVar[bool] = False
    compares_items: ClassVar[bool] = False
    min_information_share: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="A worker whose answers give less than this share of the job's average information per cost, "
            "even at an optimistic estimate, gets no new work; 0: everyone gets work",
        ),
    ] = 0.5
    min_answers: Annotated[
        int, Field(ge=1, le=10_000, description="Answers that a worker must have given before that rule applies")
    ] = 20

    def score(self, candidates: CandidateWorkers) -> Array:
        return -np.arange(len(candidates.price), dtype=np.float64)

    @property
    def marks_low_information(self) -> bool:
        return self.min_information_share > 0

    def low_information(self, information: Array, answers: Array | IntArray) -> Mask:
        marked = (answers >= self.min_answers) & (information < self.min_information_share)
        active = np.count_nonzero(answers > 0, axis=-1, keepdims=True)
        rank = np.where(marked, information, np.inf).argsort(axis=-1, kind="stable").argsort(axis=-1)  # 0: the least
        marked &= rank < TUNED.low_information.max_share * active
        others = active - np.count_nonzero(marked, axis=-1, keepdims=True)
        return np.asarray(marked & (others >= TUNED.low_information.min_others))
