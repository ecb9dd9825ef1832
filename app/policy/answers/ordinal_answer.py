"""One of several labels that are in order."""

from typing import Annotated, Literal

from pydantic import Field

from app.policy.answers.by_median import ByMedian
from app.policy.answers.choice_answer import OneLabel
from app.policy.worker_models import WorkerModel


class OrdinalAnswer(OneLabel):
    """An answer is one of the labels, which are in order (Dawid and Skene 1979): near misses are likelier.

    The label of an item is the most likely one, or the median of what is believed:

        mode: argmax_c P(c);    median: the smallest c with P(1) + ... + P(c) >= 1/2.

    Both are the same as soon as one label is more likely than all others together.
    """

    kind: Literal["ordinal"] = "ordinal"
    label: Annotated[
        Literal["mode", "median"],
        Field(description="Take the most likely label, or the median, which is closest to the truth on average"),
    ] = "mode"

    def model(self, model: WorkerModel, labels: int) -> WorkerModel:  # noqa: ARG002  the same for any number
        return ByMedian(inner=model) if self.label == "median" else model
