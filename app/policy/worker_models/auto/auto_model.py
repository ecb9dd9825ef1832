"""Start with one accuracy per worker, and learn from the answers whether workers favour labels or copy a source."""

from functools import lru_cache
from typing import Annotated, Literal

import numpy as np  # noqa: F401  for the doctest
from pydantic import Field

from app.policy.worker_models.auto.auto_stages import AutoStages
from app.policy.worker_models.auto.copied_answers import Copied
from app.policy.worker_models.auto.stage_models import CrowdAccuracy, Rows
from app.policy.worker_models.base import WorkerModel
from app.policy.worker_models.confusion import Confusion
from app.policy.worker_models.inference.knows_or_guesses import KnowsOrGuesses
from app.policy.worker_models.stages import Stages

_BINARY = 2
_MOST_IN_ORDER = 100  # with more labels, looking at every pair of them takes too long


class Auto(CrowdAccuracy):
    """Start with one accuracy per worker, and change to a richer model once that predicts the job's answers better.

        change the stage if  mean(d) > margin * error(d),    d = log P'(answer | rest) - log P(answer | rest).

    All stages assume that an item has one true class (Dawid and Skene 1979; Zhang et al., JMLR 17, 2016). They keep
    log P(class) of each item, so an item's state means the same in each. The first stage, `one-coin`, spreads a
    worker's errors evenly over the other classes, except that errors repeat on an item. With two labels the second,
    `two-coin`, has one row of error rates per true class. In the third, `copied`, some workers copy one source.

    From 100 answers on, every refit of a job with two labels holds out a fifth of the answers, fits the first two
    stages on the rest, and compares how likely each held-out answer was. The standard error is that of sums by worker.
    The other fifths are held out in turn only if the first one shows at least half of the gain that is expected of it
    when the margin is met. Changing back needs the same margin, so chance alone does not make it switch back and forth.
    For the comparison the first stage may estimate how common classes are; otherwise unequal classes would look like
    workers who favour one. The third stage comes into force only on strong evidence.

    Neither of the two is exactly true, and they err on different items. So after a refit the probabilities of an item
    are a weighted average of both. Skills, and the weight of the next answers, are those of the stage in force.

    With more labels the second stage, `confusion`, is averaged in and never in force: rows take the errors that a crowd
    shares for the truth. With 3 and 5 labels per item of web (5 labels) jobs were right with .76 and .79 where rows,
    which predicted answers better, came into force, and with .78 and .84 where they do not; on five other sets with 3
    to 10 labels it makes no difference (`bench/ablation.py`).

    Where a job's answers are `ordinal` and it has 3 to 100 labels, the only stage is `knows-or-guesses`: who knows the
    answer errs to a neighbour, who guesses may say anything.

    >>> [Auto().stages(labels).names for labels in (2, 5, 101)]
    [('one-coin', 'two-coin', 'copied'), ('one-coin', 'confusion', 'copied'), ('one-coin',)]
    """

    kind: Literal["auto"] = "auto"
    margin: Annotated[
        float,
        Field(ge=0, le=100, description="Standard errors by which another stage must predict held-out answers better"),
    ] = 1.0

    def stages(self, classes: int) -> Stages:
        return _stages(self, classes)

    def in_order(self, classes: int) -> WorkerModel:
        if classes == _BINARY or classes > _MOST_IN_ORDER:
            return self
        return AutoInOrder(prior=self.prior, margin=self.margin)


class AutoInOrder(KnowsOrGuesses, Auto):
    """`auto` where labels are in order: workers who know or guess. It has one stage.

    A row per true class, averaged in, would take away what the order gains, and nobody looks for copiers
    (docs/decisions/0040-labels-in-order.md).
    """

    kind: Literal["auto"] = "auto"

    def stages(self, classes: int) -> Stages:  # noqa: ARG002  one stage
        return Stages(("knows-or-guesses",), (self,))


@lru_cache(maxsize=256)  # the engine asks for every request; building the models takes longer than a decision
def _stages(auto: Auto, classes: int) -> AutoStages:
    names: tuple[str, ...] = ("one-coin", "two-coin" if classes == _BINARY else "confusion", "copied")
    models: tuple[WorkerModel, ...] = (auto, Rows(prior=auto.prior), Copied(prior=auto.prior))
    if classes > Confusion.most_labels:  # a matrix per worker would be too large
        names, models = names[:1], models[:1]
    return AutoStages(names, models, classes, auto.prior, auto.margin)
