"""Simulate a job with a model that states high probabilities and is wrong on a whole cluster of items."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from app.policy.core.belief import Array, IntArray, ItemContext
from app.policy.job_policy import JobPolicy
from app.policy.requirements import Posterior
from app.simulation.crowds import Crowd, skilled, truths
from app.simulation.simulated_job import SimulatedJob, visits

Arrangement = Literal["nobody", "prior", "worker", "both", "both, by two names"]
ARRANGEMENTS: tuple[Arrangement, ...] = ("nobody", "prior", "worker", "both", "both, by two names")

_WRONGLY_SAID, _WRONGLY_SURE = 0, 0.97  # in the cluster
_SURE = 0.9, 0.99  # elsewhere


@dataclass(frozen=True)
class PeopleAndModel:
    """A crowd whose last worker is a model: it gives each item the same label whenever it is asked."""

    people: Crowd
    stated: Array  # (items, classes) the model's probabilities

    @classmethod
    def drawn(
        cls, rng: np.random.Generator, *, items: int, people: int, classes: int, cluster: float
    ) -> "PeopleAndModel":
        """People who are right with .7 to .9; a model that is wrong on a share `cluster` of the items, and sure."""
        truth = truths(items, classes, rng)
        wrong = rng.choice(np.flatnonzero(truth != _WRONGLY_SAID), round(cluster * items), replace=False)
        said, sure = truth.copy(), rng.uniform(*_SURE, size=items)
        said[wrong], sure[wrong] = _WRONGLY_SAID, _WRONGLY_SURE
        stated = np.where(said[:, None] == np.arange(classes), sure[:, None], (1 - sure[:, None]) / (classes - 1))
        return cls(Crowd(truth, skilled(rng.uniform(0.7, 0.9, people), classes)), stated)

    @property
    def truth(self) -> IntArray:
        return self.people.truth

    @property
    def items(self) -> int:
        return self.people.items

    @property
    def workers(self) -> int:
        return self.people.workers + 1

    @property
    def classes(self) -> int:
        return self.people.classes

    @property
    def model(self) -> int:
        """The model's number among the workers."""
        return self.people.workers

    def answers(self, item: IntArray, worker: IntArray, rng: np.random.Generator) -> IntArray:
        by_people = self.people.answers(item, np.minimum(worker, self.model - 1), rng)
        return np.where(worker == self.model, self.stated[item].argmax(axis=1), by_people)


@dataclass(frozen=True)
class OpinionOutcome:
    """How a job ended."""

    accuracy: float  # the share of resolved items whose label is right
    resolved: float  # the share of items
    labels_per_item: float  # by people
    believed: float  # how far the model's opinions or answers were believed at the end


def run_with_model(
    crowd: PeopleAndModel,
    arrangement: Arrangement,
    asked: float,
    seed: int,
    *,
    gold: int = 0,
    policy: JobPolicy | None = None,
) -> OpinionOutcome:
    """Run a job to its end: the model speaks first, as prior, as a worker or as both; then people come at random.

    By one name, the model's answers replace its priors. By two names the job does not know that both are the same.
    """
    labels = tuple(str(label) for label in range(crowd.classes))
    policy = JobPolicy(labels=labels, requirement=Posterior(min_probability=asked), seed=seed)
    rng = np.random.default_rng([seed, 1])
    known = np.full(crowd.items, -1)
    known[rng.choice(crowd.items, gold, replace=False)] = 0
    context = replace(ItemContext.plain(crowd.items), gold=np.where(known < 0, -1, crowd.truth) if gold else None)
    if arrangement not in {"nobody", "worker"}:
        context = replace(context, prior=crowd.stated)
    source = crowd.model if arrangement == "both" else None
    job = SimulatedJob(policy, crowd, rng, context=context, source=source)
    if arrangement not in {"nobody", "prior"}:
        for item in range(crowd.items):
            job.ask(item, crowd.model)
    first = job.job.answers
    job.blocked[crowd.model] = True  # from now on people answer
    for _ in visits(job, rng):
        pass
    judged = (job.job.label >= 0) & (known < 0)
    speaker = crowd.model if arrangement in {"worker", "both"} else crowd.workers
    accuracies = job.job.engine.model.accuracy(job.job.skill)
    return OpinionOutcome(
        accuracy=float((job.job.label == crowd.truth)[judged].mean()),
        resolved=float(judged.sum() / (known < 0).sum()),
        labels_per_item=(job.job.answers - first) / crowd.items,
        believed=float(accuracies[min(speaker, len(accuracies) - 1)]),
    )
