"""The interface of every worker model: what an answer says about its item, and about its worker."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.ballots import Ballots
from app.policy.core.belief import Belief, ItemContext, State
from app.policy.core.opinions import combined
from app.policy.core.policy import Policy
from app.policy.worker_models.inference.answer_replay import replayed
from app.policy.worker_models.stages import Stages

PseudoAnswers = Annotated[float, Field(gt=0, le=10_000)]
SkillPrior = Annotated[
    tuple[PseudoAnswers, PseudoAnswers],
    Field(
        description="Right and wrong answers that a new worker is credited with; [4, 1] expects an accuracy of 80 %. "
        "[0.5, 0.5] (Jeffreys) expects a guess: with two labels only items of known truth then show who is right"
    ),
]

# P(class), shape (*, items, classes), after votes[*, i] more answers on item i, all with the same class
PosteriorAfter = Callable[[Array], Array]


@dataclass(frozen=True)
class Refitted:
    """What all answers together say about items and workers; the next answer is learned from there."""

    state: State
    skill: Array  # (workers, parameters)
    iterations: int
    converged: bool
    copying_probability: Array | None = None  # (workers,) how likely each copies a source; NaN without answers
    blind: State | None = None  # the items as if their truth were unknown; None: no truth is known, or not computed


class WorkerModel(Policy, ABC):
    """What a worker's answer says. Skills are rows of numbers, one row per worker.

    A new model writes `read`, `chances` and `learn`, and `newcomer` and `start` if it keeps anything besides the votes.
    Two bases need less: `CountedVotes`, for models that count votes, has all of them, and `TrueClassModel`, for models
    that keep the probability of each class, needs `likelihood` alone. All other methods have defaults that are right
    for every model, but sometimes slower than what a model could do itself.
    """

    most_labels: ClassVar[int] = 1000  # more would take too much time or memory
    most_labels_with_priors: ClassVar[int] = 1000  # of jobs whose items may have a prior
    calibrates: ClassVar[bool] = False  # whether items of known truth show how far its confidence can be trusted
    treats_labels_alike: ClassVar[bool] = False  # labels without votes differ in name only; True saves time with many

    def newcomer(self, classes: int) -> Array:  # noqa: ARG002  nothing is kept of workers
        """The skill of a worker who has not answered yet, shape (parameters,); empty if all workers are alike."""
        return np.empty(0)

    def start(self, context: ItemContext, classes: int) -> State:
        """The state before any answer, one row per item of `context`."""
        items = len(context.cost)
        return State(np.zeros((items, classes)), np.empty((items, 0)))

    @abstractmethod
    def read(self, state: State, context: ItemContext) -> Belief:
        """The belief about each item that follows from its state."""

    @abstractmethod
    def chances(self, belief: Belief, skill: Array) -> Array:
        """P(answer = c) of the worker with skill[i], shape (items, parameters), on item i; rows sum to 1."""

    @abstractmethod
    def learn(self, state: State, context: ItemContext, skill: Array, label: Index) -> tuple[State, Array]:
        """State and skill after the worker with skill[i] has answered item i with label[i]; both are new arrays."""

    def after_answer(self, state: State, context: ItemContext, skill: Array, label: Index) -> State:
        """The state of `learn` alone: for looking ahead, where the new skill is not needed."""
        return self.learn(state, context, skill, label)[0]

    def after_answers(self, state: State, context: ItemContext, skill: Array, label: Index, times: int) -> State:
        """The states after one answer label[i], after two, and so on, of the same worker; shape (times * items, *)."""
        states = list(
            accumulate(range(times), lambda before, _: self.after_answer(before, context, skill, label), initial=state)
        )
        return State(
            *(np.concatenate([getattr(each, name) for each in states[1:]]) for name in ("votes", "model_state"))
        )

    def posterior_after(self, state: State, skill: Array, label: Index) -> PosteriorAfter | None:  # noqa: ARG002  answer by answer
        """A function that gives P(class) after any number of answers label[i]; None: only answer by answer."""
        return None

    def of_questions(
        self, state: State, context: ItemContext, skill: Array
    ) -> tuple["WorkerModel", State, ItemContext, Array]:
        """The questions that items are, and the model that decides about one: usually an item is one question."""
        return self, state, context, skill

    def believed(self, shares: Array, skill: Array) -> Array:  # noqa: ARG002  nothing is kept of sources
        """What the opinions of a source say, as far as its skill, (parameters,), makes them reliable.

        `shares` and the result are probabilities, (items, classes). Models that keep no error rates take opinions as
        they are.
        """
        return shares

    def stated_skill(self, accuracy: float, weight: float, classes: int) -> Array | None:  # noqa: ARG002  see below
        """The skill of a worker of known accuracy, worth `weight` checked answers; None: the model keeps none."""
        return None

    @property
    def tier_names(self) -> Sequence[str]:
        """The tiers of workers that the model knows, if any; the first is that of a new worker."""
        return ()

    def skill_of(self, tier: str) -> Array:
        """The skill of a worker of this tier, shape (parameters,)."""
        raise KeyError(tier)

    def score(self, skill: Array, agreed: Mask) -> Array:  # noqa: ARG002  most models learn at the answer
        """The skill once an item is finished: worker i answered it, and agreed[i] with its final label.

        Only for models that judge workers by finished items; the others have learned when the answer came.
        """
        return skill

    def accuracy(self, skill: Array) -> Array:
        """How often a worker of this skill is right, shape (workers,); 1 if all workers are alike."""
        return np.ones(len(skill))

    def interval(self, skill: Array) -> Array:
        """The 95 % interval of that accuracy, shape (workers, 2); NaN where the model does not know."""
        return np.full((len(skill), 2), np.nan)

    def optimistic(self, skill: Array, bonus: float) -> Array:  # noqa: ARG002  most keep no distribution
        """The skill with an accuracy higher by bonus / sqrt(n), n the answers behind the skill, and below 1.

        The evidence n stays the same. A bonus below 0 gives the pessimistic skill. Unchanged where the model keeps no
        distribution of skill.
        """
        return skill

    def refit(self, ballots: Ballots, context: ItemContext, skill: Array, prior: Array) -> Refitted:  # noqa: ARG002  see below
        """State and skill from all answers of a job at once, replacing what was learned answer by answer.

        `context` has a row per item; `skill` is the present skill of the workers, `prior` what each is credited with
        before any answer of this job, both (workers, parameters). By default skills stay and the answers are replayed
        with them. A model that estimates skills uses the answers and the prior alone, so that the same answers give the
        same result whatever was believed before.
        """
        context = with_opinions(self, context, ballots, skill)
        return Refitted(replayed(self, ballots, context, skill), skill, iterations=1, converged=True)

    def stages(self, classes: int) -> Stages:  # noqa: ARG002  one stage
        """The models that this one may become as answers come in. Only `auto` has more than itself."""
        return Stages((self.kind,), (self,))

    def in_order(self, classes: int) -> "WorkerModel":  # noqa: ARG002  most do not look at the order
        """The same model for labels that are in order."""
        return self

    @property
    def fits_skills(self) -> bool:
        """Whether the model has a `refit` of its own that estimates skills, so that refits are useful."""
        return type(self).refit is not WorkerModel.refit

    @property
    def scores_finished_items(self) -> bool:
        """Whether the model judges workers by finished items, with a `score` of its own."""
        return type(self).score is not WorkerModel.score


def with_gold(context: ItemContext, ballots: Ballots) -> ItemContext:
    """The context with the known classes of the ballots, if it has none of its own."""
    return context if context.gold is not None or ballots.gold is None else replace(context, gold=ballots.gold)


def credit(model: WorkerModel, skill: Array, stated: Array, classes: int) -> Array:
    """The skills, (workers, parameters), with those replaced whose accuracy and weight are stated, (workers, 2)."""
    credited = skill.copy()
    for worker in np.flatnonzero(~np.isnan(stated[:, 0])).tolist():
        known = model.stated_skill(float(stated[worker, 0]), float(stated[worker, 1]), classes)
        if known is not None:
            credited[worker] = known
    return credited


def with_opinions(model: WorkerModel, context: ItemContext, ballots: Ballots, skill: Array) -> ItemContext:
    """The context with the opinions of the ballots, as far as workers of this skill are believed."""
    opinions = ballots.opinions
    if opinions is None:
        return context
    pairs = zip(opinions.shares, opinions.source, strict=True)
    believed = np.stack([model.believed(shares, skill[source]) for shares, source in pairs])
    return replace(context, prior=combined(believed))
