"""Features of items: a model learns from the answers what they say about the label, and speaks as one more source."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from app.policy.core.arrays import Array, Index, IntArray, Mask
from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.core.opinions import NO_SOURCE, Opinions
from app.policy.core.policy import ONE_LABEL, Policy
from app.policy.core.randomness import uniform
from app.policy.core.text import Key
from app.policy.core.tuning import TUNED
from app.policy.worker_models.inference.error_rate import OneAccuracy
from app.policy.worker_models.inference.feature_model import FeatureModel, standardised

MOST_FEATURES = 1000  # of an item: a fit inverts a matrix of this size, in about a second
MOST_NUMBERS = 20_000_000  # of a job: a refit takes up to 750 megabytes for them (docs/research/features.md)
_PART = 0xFEA7  # marks these random draws
_TYPICAL = 1000  # items whose mean is that of all


PRIORS, FEATURES = 0, 1  # the places of the two sources among those of a job


class LogisticFeatures(Policy):
    """Learn from the answers what the features of items say about their labels, by logistic regression.

    With every refit a Bayesian model is fitted (Chen et al., ICML 2013, section 5; for more than two labels, softmax):

        P(c | x) = exp(w_c . x) / sum over labels k of exp(w_k . x),    w ~ N(0, variance).

    It speaks about every item with features as one more source, whose reliability is learned like a worker's. The
    items are drawn into five parts, and an item with answers gets the opinion of a model of the other four: no opinion
    contains an answer on its own item. The other items get that of a model of all answers. An opinion says how much
    more likely the features make each label than it is on average: how common labels are, the answers show.
    """

    kind: Literal["logistic"] = "logistic"
    source: Annotated[
        Key,
        Field(
            description="The name of the model in the list of workers, where its skill is shown; a worker of this name "
            "cannot answer"
        ),
    ] = "features"

    @property
    def answer_kinds(self) -> frozenset[str]:
        return ONE_LABEL


@dataclass(frozen=True)
class ItemFeatures:
    """The features of a job's items, and the source that speaks for them."""

    numbers: Array  # (items, features); NaN for an item without features
    source: int  # among the workers

    def spoken(self, ballots: Ballots, context: ItemContext) -> Ballots:
        """The answers together with what the features say about each item, beside the opinions of priors."""
        shares = opinions_of(self.numbers, ballots, context)
        nothing = Opinions.of(np.full_like(shares, np.nan), NO_SOURCE)
        given = nothing if ballots.opinions is None else ballots.opinions
        return replace(ballots, opinions=given.joined_by(Opinions.of(shares, self.source)))


def opinions_of(numbers: Array, ballots: Ballots, context: ItemContext) -> Array:
    """What the features say about each item, (items, classes); NaN for items without features.

    By an average item that the model has learned from:

        opinion_c ~ P(c | features) / mean of P(c | features)
    """
    described = ~np.isnan(numbers[:, 0])
    informed = ballots.informed | context.known
    part = part_of(context.seed, context.number)
    items = _DescribedItems(described, standardised(numbers[described]), ballots, context)
    opinions: Array = np.full((len(numbers), ballots.classes), np.nan)
    for one in range(TUNED.features.parts):
        own = informed & (part == one)
        opinions[own & described] = items.predicted(own, informed & ~own)
    opinions[described & ~informed] = items.predicted(~informed, informed)
    return opinions


def part_of(seed: int, number: IntArray) -> Index:
    """The part that each item belongs to, fixed by its number and the job's seed; shape (items,)."""
    drawn = uniform(seed, number, np.full(len(number), _PART))
    return np.asarray(drawn * TUNED.features.parts, dtype=np.intp)


class _DescribedItems(NamedTuple):
    """Items with features, and all answers of their job."""

    described: Mask  # (items,)
    features: Array  # (described items, features) as a model takes them
    ballots: Ballots
    context: ItemContext

    def predicted(self, asked: Mask, learned: Mask) -> Array:
        """The opinions about the items `asked` that have features, by a model of the items `learned`."""
        train, test = (self.features[which[self.described]] for which in (learned, asked))
        if not len(train) or not len(test):
            return np.full((len(test), self.ballots.classes), np.nan)
        truth = _truth(self.ballots.on(learned), self.context.rows(learned))[self.described[learned]]
        model = FeatureModel.learned(train, truth)
        usual = model.probability(train[:: len(train) // _TYPICAL + 1]).mean(axis=0)
        found = model.probability(test) / usual
        return np.asarray(found / found.sum(axis=1, keepdims=True))


def _truth(ballots: Ballots, context: ItemContext) -> Array:
    """P(class) of each item by its answers and gold alone, all classes being as common; (items, classes)."""
    model = OneAccuracy()
    prior = np.tile(model.newcomer(ballots.classes), (ballots.workers, 1))
    alone, plain = replace(ballots, opinions=None), replace(context, prior=None)
    return np.asarray(np.exp(model.refit(alone, plain, prior, prior).state.model_state))
