"""One of several labels that are in order."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from app.policy.answers.by_median import ByMedian
from app.policy.answers.choice_answer import OneLabel
from app.policy.core.arrays import Array, IntArray
from app.policy.core.ballots import first_choice
from app.policy.core.belief import Belief
from app.policy.worker_models import WorkerModel


class OrdinalAnswer(OneLabel):
    """An answer is one of the labels, which are in order (Dawid and Skene 1979): near misses are likelier.

    The label of an item is the most likely one, or the median of what is believed:

        mode: argmax_c P(c);    median: the smallest c with P(1) + ... + P(c) >= 1/2.

    Both are the same as soon as one label is more likely than all others together. The median has the smallest expected
    distance from the truth. The worker model `auto` learns how far from the truth this crowd errs
    (`worker_models/inference/knows_or_guesses.py`); the other models do not look at the order.
    """

    kind: Literal["ordinal"] = "ordinal"
    in_order: ClassVar[bool] = True
    label: Annotated[
        Literal["mode", "median"],
        Field(description="Take the most likely label, or the median, which is closest to the truth on average"),
    ] = "mode"

    def learner(self, model: WorkerModel, labels: int) -> WorkerModel:
        return model.in_order(labels)

    def scores(self, belief: Belief) -> Array:
        return np.eye(belief.votes.shape[1])[belief.leader] if belief.by_median else belief.posterior

    def errors(self, scores: Array, truth: Array | IntArray) -> dict[str, float]:
        """How many labels a result is from the truth, on average."""
        steps = np.abs(np.arange(scores.shape[1]) - np.asarray(truth)[:, None])
        return {"mean_absolute_error": float((first_choice(scores) * steps).sum(axis=1).mean())}

    def model(self, model: WorkerModel, labels: int) -> WorkerModel:  # noqa: ARG002  the same for any number
        return ByMedian(inner=model) if self.label == "median" else model
