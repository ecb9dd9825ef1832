"""What every worker model can say: what a vote tells about the item, and what it tells about the worker."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from app.domain import Reason
from app.policy.aggregation.ballots import Ballots
from app.policy.belief import Array, Belief, Facts, Mask, State
from app.policy.member import Member
from app.policy.workers.replayed import replayed

PseudoAnswers = Annotated[float, Field(gt=0, le=10_000)]
SkillPrior = Annotated[
    tuple[PseudoAnswers, PseudoAnswers],
    Field(description="Right and wrong answers that a newcomer is credited with; [4, 1] expects 80 % accuracy"),
]

Foresight = Callable[[int, Array], Array]  # P(class), (*, items, classes), after votes[*, i] more answers c on item i


@dataclass(frozen=True)
class Refitted:
    """What all answers together say; the next answer is learned from there."""

    state: State
    skill: Array  # (workers, parameters)
    iterations: int
    converged: bool
    copies: Array | None = None  # (workers,) how likely each repeats a source; NaN of whom nothing is heard


@dataclass(frozen=True)
class Choice:
    """Which stage is to be in force, and why."""

    stage: int
    held_out: dict[str, float]  # mean log-likelihood of an answer held out, by the name of the stage
    answers: int  # that were held out
    reason: Reason

    def as_json(self) -> dict[str, Any]:
        return {"held_out": self.held_out, "answers": self.answers, "reason": self.reason.as_json()}


class WorkerModel(Member, ABC):
    """What a worker's vote tells, and what it told about the worker. Skills are rows of numbers, one per worker."""

    most_labels: ClassVar[int] = 1000  # between which it can tell in reasonable time and memory
    tells_classes_apart: ClassVar[bool] = False  # a worker may be better at one class than at another
    tells_workers_apart: ClassVar[bool] = True  # whose answer it is can change what it is worth
    fits_skills: ClassVar[bool] = False  # a refit estimates skills anew, so that it pays as answers come in
    scores_finished_items: ClassVar[bool] = False  # skill is judged by the final labels of items, through `score`

    @abstractmethod
    def newcomer(self, classes: int) -> Array:
        """The skill of a worker of whom nothing is known, shape (parameters,)."""

    @abstractmethod
    def start(self, facts: Facts, classes: int) -> State:
        """The state before any answer, one row per item of `facts`."""

    @abstractmethod
    def read(self, state: State, facts: Facts) -> Belief:
        """The belief that this state amounts to."""

    @abstractmethod
    def chances(self, belief: Belief, skill: Array) -> Array:
        """How likely the worker with skill[i], shape (items, parameters), gives each class on item i; rows sum to 1."""

    @abstractmethod
    def learn(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> tuple[State, Array]:
        """State and skill after the worker with skill[i] has answered item i with label[i]; both are new arrays."""

    def answered(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> State:
        """The state alone after that answer: for looking ahead, where nobody asks what the worker would learn."""
        return self.learn(state, facts, skill, label)[0]

    def foresight(self, state: State, skill: Array) -> Foresight | None:  # noqa: ARG002  most can only walk
        """What any number of further answers of one class would make of the items, all by workers with skill[i].

        None where that cannot be told at once, but only answer by answer.
        """
        return None

    def score(self, skill: Array, agreed: Mask) -> Array:  # noqa: ARG002  most models learn at the vote
        """Skill once an item is finished that the worker of row i answered, agreed[i]: with the final label.

        For models that judge workers by finished items alone; the others have learned when the vote came.
        """
        return skill

    def accuracy(self, skill: Array) -> Array:
        """How often a worker of this skill is right, shape (workers,); 1 where workers are not told apart."""
        return np.ones(len(skill))

    def interval(self, skill: Array) -> Array:
        """The 95 % interval of that accuracy, shape (workers, 2); NaN where the model does not say."""
        return np.full((len(skill), 2), np.nan)

    def optimistic(self, skill: Array, bonus: float) -> Array:  # noqa: ARG002  most can hope for nothing
        """The skill of workers who are as good as can be hoped: for whom to ask, so that newcomers get their chance.

        The accuracy is raised by bonus / sqrt(n), n the answers that the skill is worth, pseudo-answers included, and
        stays below 1; n stays as it is. A bonus below 0 tells how bad they may be. Unchanged where skill is no
        distribution.
        """
        return skill

    def refit(self, ballots: Ballots, facts: Facts, skill: Array, prior: Array) -> Refitted:  # noqa: ARG002  see below
        """State and skill from all answers of a job at once, in place of what learning one by one has made of them.

        `facts` has a row per item; `skill` is what is known of the workers now, `prior` what each is credited with
        before any answer of this job, both (workers, parameters). Where skill is not fitted it stays, and the answers
        are told again with it. A model that fits looks at the answers and the prior alone, so that the same answers
        give the same numbers whatever was believed before.
        """
        return Refitted(replayed(self, ballots, facts, skill), skill, iterations=1, converged=True)

    def stages(self, classes: int) -> tuple[str, ...]:  # noqa: ARG002  most stay what they are
        """The names of the models that this one may become as answers come in, simplest first."""
        return (self.kind,)

    def acting(self, stage: int, classes: int) -> "WorkerModel":  # noqa: ARG002  same
        """The model in force at this stage."""
        return self

    def fitted(self, stage: int, ballots: Ballots, facts: Facts, skill: Array, prior: Array) -> Refitted:
        """What all answers say with this stage in force; `skill` and `prior` are in its shape."""
        return self.acting(stage, ballots.classes).refit(ballots, facts, skill, prior)

    def choose(self, ballots: Ballots, facts: Facts, prior: Array, stage: int = 0) -> Choice | None:  # noqa: ARG002  same
        """Which stage the answers ask for, now that `stage` is in force; None where there is no choice."""
        return None

    def convert(self, skill: Array, from_stage: int, to_stage: int, classes: int) -> Array:  # noqa: ARG002  same
        """The skills of the same workers in the shape of another stage, shape (workers, parameters)."""
        return skill


def with_gold(facts: Facts, ballots: Ballots) -> Facts:
    """The facts with the known classes of the ballots, where they have none of their own."""
    return facts if facts.gold is not None or ballots.gold is None else replace(facts, gold=ballots.gold)


def one_more_vote(votes: Array, label: npt.NDArray[np.intp]) -> Array:
    """The votes with one more for label[i] on item i."""
    counted = votes.copy()
    counted[np.arange(len(votes)), label] += 1
    return counted
