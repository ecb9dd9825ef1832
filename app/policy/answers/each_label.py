"""Decide about items that are several yes/no questions, by the policies of one question."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
from propcache.api import cached_property
from pydantic import SerializeAsAny

from app.policy.allocation import Allocation
from app.policy.allocation.base import JobContext
from app.policy.answers.around_model import AroundModel
from app.policy.answers.questions import SIDES, Questions
from app.policy.core.arrays import Array, Index, IntArray, Mask
from app.policy.core.belief import NOBODY, Belief, ItemContext, State
from app.policy.core.decision import Reason
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.quality.calibration import Calibration
from app.policy.requirements.base import Requirement
from app.policy.worker_models.base import PosteriorAfter, WorkerModel


class SetBelief(Belief):
    """What is believed about items that are several questions. Its arrays have a row per item.

    `votes` are those of all questions side by side: no and yes of the first label, then of the second.
    """

    def __init__(self, each: Belief, questions: Questions, context: ItemContext) -> None:
        folded = questions.folded(State(each.votes, each.weights))
        squares = questions.by_item(each.squares)[:, 0]
        alpha = each.alpha.reshape(folded.votes.shape)
        super().__init__(folded.votes, folded.model_state, squares, alpha, context)
        object.__setattr__(self, "each", each)
        object.__setattr__(self, "questions", questions)

    each: Belief  # about the questions, one row each
    questions: Questions

    def rows(self, which: IntArray | Mask | slice) -> "SetBelief":
        own = self.questions.rows(np.arange(len(self.votes))[which])
        return SetBelief(self.each.rows(own), self.questions, self.context.rows(which))

    @cached_property
    def total(self) -> Array:
        return np.asarray(self.questions.by_item(self.each.total)[:, 0])

    @cached_property
    def applies(self) -> Array:
        """How likely each label applies, shape (items, labels)."""
        return self.questions.applies(self.each.posterior)

    @cached_property
    def certainty(self) -> Array:
        """How likely all labels are right that lead, shape (items,), as if they were independent."""
        return self.of_item(self.each.certainty)

    @cached_property
    def leader(self) -> Index:
        return self.questions.sets(self.questions.by_item(self.each.leader))

    @cached_property
    def winner(self) -> Index:
        """The set of the labels that lead; -1 where a question is tied."""
        return self.set_of(self.each.winner)

    def confidence(self, accuracy: Callable[[Array, Array], Array]) -> Array:
        return self.of_item(accuracy(self.each.certainty, self.each.dissent))

    @cached_property
    def dissent(self) -> Array:
        """Answers against the leading side of the most disputed label, shape (items,)."""
        return np.asarray(self.questions.by_item(self.each.dissent).max(axis=1))

    def of_item(self, chances: Array) -> Array:
        """The chance that all questions are right, shape (items,), from that of each."""
        return np.asarray(self.questions.by_item(chances).prod(axis=1))

    def set_of(self, winners: IntArray) -> Index:
        """The set that the winners of the questions make; -1 where a question has none."""
        by_item = self.questions.by_item(winners)
        return np.where((by_item == NOBODY).any(axis=1), NOBODY, self.questions.sets(np.maximum(by_item, 0)))


class EachLabelModel(AroundModel):
    """Learn each label of a set as one answer to a yes/no question; a worker has one skill for all of them.

    All labels of an answer are weighed by the skill that the worker had before it. Then the skill learns from each.
    """

    kind: Literal["each-label"] = "each-label"
    labels: int

    @property
    def questions(self) -> Questions:
        return Questions(self.labels)

    def newcomer(self, classes: int) -> Array:  # noqa: ARG002  those of all questions side by side, or of one
        return self.inner.newcomer(SIDES)

    def start(self, context: ItemContext, classes: int) -> State:
        return self.questions.folded(self.inner.start(self.questions.context(context), classes))

    def read(self, state: State, context: ItemContext) -> SetBelief:
        each = self.inner.read(self.questions.state(state), self.questions.context(context))
        return SetBelief(each, self.questions, context)

    def learn(self, state: State, context: ItemContext, skill: Array, label: Index) -> tuple[State, Array]:
        after = self.after_answer(state, context, skill, label)
        if not skill.shape[1]:
            return after, skill
        each, contexts, bits = self.questions.state(state), self.questions.context(context), self.questions.bits(label)
        for k in range(self.labels):
            rows = np.arange(len(label)) * self.labels + k
            before = State(each.votes[rows], each.model_state[rows])
            skill = self.inner.learn(before, contexts.rows(rows), skill, bits[:, k])[1]
        return after, skill

    def after_answer(self, state: State, context: ItemContext, skill: Array, label: Index) -> State:
        questions = self.questions
        each = questions.state(state), questions.context(context), questions.of(skill)
        return questions.folded(self.inner.after_answer(*each, questions.bits(label).ravel()))

    def after_answers(self, state: State, context: ItemContext, skill: Array, label: Index, times: int) -> State:
        return WorkerModel.after_answers(self, state, context, skill, label, times)

    def posterior_after(self, state: State, skill: Array, label: Index) -> PosteriorAfter | None:  # noqa: ARG002  only per question
        return None

    def believed(self, shares: Array, skill: Array) -> Array:
        return self.questions.applies(self.inner.believed(self.questions.shares(shares), skill))

    def of_questions(
        self, state: State, context: ItemContext, skill: Array
    ) -> tuple[WorkerModel, State, ItemContext, Array]:
        questions = self.questions
        return self.inner, questions.state(state), questions.context(context), questions.of(skill)


class EveryLabel(Requirement):
    """An item is good enough when every question of it is."""

    kind: Literal["every-label"] = "every-label"
    inner: SerializeAsAny[Requirement]
    names: tuple[str, ...]

    @property
    def uses(self) -> Uses:
        return self.inner.uses

    @property
    def refers_doubt(self) -> bool:
        return self.inner.refers_doubt

    def satisfied(self, belief: Belief) -> Mask:
        each, questions = _questions_of(belief)
        return np.asarray(questions.by_item(self.inner.satisfied(each)).all(axis=1))

    def winner(self, belief: Belief) -> Index:
        assert isinstance(belief, SetBelief)  # noqa: S101
        return belief.set_of(self.inner.winner(belief.each))

    def not_worth_asking(self, belief: Belief) -> Mask:
        """An item is given up when a question is, and all others are good enough or given up, too."""
        each, questions = _questions_of(belief)
        lost, met = self.inner.not_worth_asking(each), self.inner.satisfied(each)
        return np.asarray(questions.by_item(lost).any(axis=1) & questions.by_item(lost | met).all(axis=1))

    def shortfall(self, lookahead: Lookahead) -> Array:
        """That of the question that lacks most: each answer is one to all of them."""
        return np.asarray(self._per_item(lookahead, self.inner.shortfall).max(axis=1))

    def answers_to_come(self, lookahead: Lookahead) -> Array:
        return np.asarray(self._per_item(lookahead, self.inner.answers_to_come).max(axis=1))

    def progress(self, lookahead: Lookahead) -> Array:
        return np.asarray(self._per_item(lookahead, self.inner.progress).mean(axis=1))

    def calibrated(self, calibration: Calibration, *, favourable: bool = False) -> Requirement:
        inner = self.inner.calibrated(calibration, favourable=favourable)
        return self if inner == self.inner else EveryLabel(inner=inner, names=self.names)

    def reason(self, belief: Belief, item: int) -> Reason:
        """That of the least sure label which is not good enough; of the least sure one where all are."""
        each, questions = _questions_of(belief)
        own = questions.rows(np.array([item]))
        certainty, met = each.certainty[own], self.inner.satisfied(each)[own]
        label = int(np.where(met, 2.0, certainty).argmin() if not met.all() else certainty.argmin())
        found = self.inner.reason(each, int(own[label]))
        return Reason(found.code, f"Least sure is whether {self.names[label]!r} applies. {found.message}")

    def _per_item(self, lookahead: Lookahead, compute: Callable[[Lookahead], Array]) -> Array:
        """What `compute` gives for each question, (items, labels)."""
        assert isinstance(lookahead.model, EachLabelModel)  # noqa: S101
        return lookahead.model.questions.by_item(compute(lookahead.of_questions))


class MeanOverLabels(Allocation):
    """An answer on an item is worth what it is worth for its questions on average."""

    kind: Literal["mean-over-labels"] = "mean-over-labels"
    inner: SerializeAsAny[Allocation]

    @property
    def uses(self) -> Uses:  # type: ignore[override]
        return self.inner.uses

    @property
    def per_cost(self) -> bool:  # type: ignore[override]
        return self.inner.per_cost

    @property
    def breaks_ties(self) -> bool:  # type: ignore[override]
        return self.inner.breaks_ties

    def value(self, lookahead: Lookahead, job: JobContext) -> Array:
        assert isinstance(lookahead.model, EachLabelModel)  # noqa: S101
        assert isinstance(job.requirement, EveryLabel)  # noqa: S101
        each = lookahead.of_questions
        value = self.inner.value(each, replace(job, requirement=job.requirement.inner))
        return np.asarray(lookahead.model.questions.by_item(value).mean(axis=1))

    def tie_break(self, lookahead: Lookahead) -> Array:
        assert isinstance(lookahead.model, EachLabelModel)  # noqa: S101
        drawn = self.inner.tie_break(lookahead.of_questions)
        return np.asarray(lookahead.model.questions.by_item(drawn)[:, 0])


def _questions_of(belief: Belief) -> tuple[Belief, Questions]:
    assert isinstance(belief, SetBelief)  # noqa: S101
    return belief.each, belief.questions
