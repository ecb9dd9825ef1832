"""Compose a job's policy into decisions: what the service, the simulations and the replay all call."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from app.policy.allocation import Allocation, Information, JobContext
from app.policy.core.belief import NOBODY, Array, Belief, Index, IntArray, ItemContext, Mask, State
from app.policy.core.decision import Decision, Reason, Verdict
from app.policy.core.lookahead import DECIMALS, Lookahead, significant
from app.policy.core.opinions import combined
from app.policy.core.policy import Uses
from app.policy.core.randomness import scramble
from app.policy.core.tuning import TUNED
from app.policy.job_policy import JobPolicy
from app.policy.quality.calibration import Calibration
from app.policy.requirements import Count, Requirement
from app.policy.requirements.base import HORIZON
from app.policy.worker_choice.relative_information import relative_information
from app.policy.worker_models import WorkerModel

SourceSkill = tuple[float, ...] | None  # of a source of opinions. None: that of a new worker, (): it is not believed
GOLD = "gold"  # the reason code of an item whose label the requester gave
_MOST_REMEMBERED = 1000  # different kinds of items


@dataclass(frozen=True)
class Judgement:
    """What the policy says about many items; row i of every array is item i."""

    belief: Belief
    winner: Index  # (items,) the label of an item that is good enough; -1 where there is none
    closed: Mask  # (items,) no more answers are needed, with a winner or without
    tier: IntArray  # (items,) items of a lower tier are asked first, whatever their priority
    priority: Array  # (items,) the value of one more answer per cost: the order within a tier
    max_open_assignments: Array  # (items,) how many answers may be out at once; 0 for an item that is not open
    progress: Array  # (items,) expected completeness, 0..1
    confidence: Array  # (items,) how likely the leading label is the right one

    def rows(self, which: Index) -> "Judgement":
        """The judgement of these items alone."""
        return Judgement(
            belief=self.belief.rows(which),
            winner=self.winner[which],
            closed=self.closed[which],
            tier=self.tier[which],
            priority=self.priority[which],
            max_open_assignments=self.max_open_assignments[which],
            progress=self.progress[which],
            confidence=self.confidence[which],
        )


class Ending(NamedTuple):
    """Which items are finished, shape (items,) each."""

    satisfied: Mask  # the requirement is met
    closed: Mask  # no more answers are needed
    winner: Index  # the label of an item that is good enough; -1 where there is none
    room: Array  # how many more answers the limits allow


class RememberedDecisions:
    """Decisions about items of the same kind, kept for reuse: bounded, and safe to share between threads."""

    def __init__(self) -> None:
        self._known: dict[object, Any] = {}

    def find(self, kinds: list[tuple[Any, ...]]) -> dict[object, Any]:
        """The decisions that are known for these kinds, as a copy: another thread may clear the memory meanwhile."""
        return {kind: known for kind in kinds if (known := self._known.get(kind)) is not None}

    def add(self, found: dict[object, Any]) -> None:
        """Keep these decisions; drop all earlier ones if there would be too many."""
        if len(self._known) + len(found) > _MOST_REMEMBERED:
            self._known = {}
        if len(found) <= _MOST_REMEMBERED:
            self._known.update(found)


@dataclass(frozen=True)
class Engine:
    """Pure decisions for one job configuration: the same answers and the same policy give the same numbers.

    What follows from the configuration alone is computed once, when the engine is built.
    """

    policy: JobPolicy
    budget: float | None = None
    inverse_costs: float = 1.0
    stage: int = 0  # of the worker model: which of several it acts as
    calibration: Calibration | None = None  # None: confidence is what the model believes
    sources: tuple[SourceSkill, ...] = ()  # by which opinions are believed, in the order of the policy's sources
    price: float = 1.0  # that workers are expected to charge, in units of an item's cost
    model: WorkerModel = field(init=False, repr=False, compare=False)  # the worker model in force
    uses: Uses = field(init=False, repr=False, compare=False)  # what decisions depend on beside votes
    by_votes_alone: bool = field(init=False, repr=False, compare=False)  # equal votes get equal decisions
    requirement: Requirement = field(init=False, repr=False, compare=False)  # with the minimum number of labels
    allocation: Allocation = field(init=False, repr=False, compare=False)
    knows_workers: bool = field(init=False, repr=False, compare=False)  # the model keeps a skill per worker
    scores_finished_items: bool = field(init=False, repr=False, compare=False)  # the model learns from final labels
    tells_workers_apart: bool = field(init=False, repr=False, compare=False)  # an answer's value depends on its worker
    remembered: RememberedDecisions = field(init=False, repr=False, compare=False, default_factory=RememberedDecisions)
    _classes: int = field(init=False, repr=False, compare=False)  # between which a question decides
    _job_context: JobContext = field(init=False, repr=False, compare=False)
    _reachable: Requirement | None = field(init=False, repr=False, compare=False)  # by the favourable calibration
    _begun_first: bool = field(init=False, repr=False, compare=False)
    _has_trial: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        policy = self.policy
        requirement, reachable = policy.effective_requirement, None
        if self.calibration is not None:
            plain, requirement = requirement, requirement.calibrated(self.calibration)
            if requirement != plain:  # it asks for a probability
                reachable = plain.calibrated(self.calibration, favourable=True)
        model = policy.model_at(self.stage)
        classes = policy.classes
        knows_workers = model.newcomer(classes).size > 0
        picks = policy.worker_choice.compares_items
        computed = {
            "model": model,
            "uses": policy.uses,
            "by_votes_alone": policy.by_votes_alone,
            "requirement": requirement,
            "allocation": policy.effective_allocation,
            "_classes": classes,
            "_reachable": reachable,
            "knows_workers": knows_workers,
            "scores_finished_items": model.scores_finished_items,
            "tells_workers_apart": knows_workers and Uses.WORKER in policy.allocation.uses,
            "_job_context": JobContext(requirement, self.budget, self.inverse_costs, picks),
            "_has_trial": policy.worker_choice.has_trial,
            "_begun_first": policy.spammers is not None and policy.spammers.finish_first,
        }
        for name, value in computed.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the configuration; another process computes the rest again."""
        settings = self.policy, self.budget, self.inverse_costs, self.stage, self.calibration, self.sources, self.price
        return Engine, settings

    def initial(self, context: ItemContext) -> State:
        """The state of each item of `context` before any answer."""
        return self.model.start(context, self._classes)

    def newcomer(self) -> Array:
        """The skill of a worker who has not answered yet, shape (parameters,)."""
        return self.model.newcomer(self._classes)

    def believed(self, shares: Array) -> Array:
        """What opinions about items say together, as far as their sources are believed; rows of NaN say nothing.

        `shares` is (sources, items, classes), with the first of the policy's sources or all of them; the result is
        (items, classes).
        """
        return combined(np.stack([self.believed_of(source, one) for source, one in enumerate(shares)]))

    def believes_as(self, other: "Engine") -> bool:
        """Whether both believe every opinion nearly alike, so that items without answers can stay as they are.

        It is enough to compare certain opinions: the others lie between them.
        """
        every = range(len(self.policy.sources))
        certain = np.eye(max(len(self.policy.labels), 1))
        pairs = [(self.believed_of(one, certain), other.believed_of(one, certain)) for one in every]
        return all(np.allclose(*both, rtol=0, atol=TUNED.opinions.same_belief, equal_nan=True) for both in pairs)

    def skill_of_source(self, source: int) -> SourceSkill:
        """The skill by which the opinions of this one of the policy's sources are believed."""
        return self.sources[source] if source < len(self.sources) else None

    def believed_of(self, source: int, shares: Array) -> Array:
        """What opinions of this one of the policy's sources say alone, (items, classes)."""
        skill = self.skill_of_source(source)
        if skill == ():
            return np.full_like(shares, np.nan)
        return self.model.believed(shares, self.newcomer() if skill is None else np.array(skill))

    def learn(
        self, state: State, context: ItemContext, skill: Array, label: npt.NDArray[np.intp]
    ) -> tuple[State, Array]:
        """State and skill after the worker with skill[i] has answered item i with label[i]."""
        return self.model.learn(state, context, skill, label)

    def lookahead(self, state: State, context: ItemContext, skill: Array | None = None) -> Lookahead:
        """The items now, and after one more answer of a worker of that skill, or of a newcomer.

        Policies see the price that the job expects: it is what further answers cost, whoever gives the next one.
        """
        priced = context if context.price == self.price else replace(context, price=self.price)
        return Lookahead.of(self.model, state, priced, skill)

    def judge(self, state: State, context: ItemContext) -> Judgement:
        """Decide about many items at once."""
        lookahead = self.lookahead(state, context)
        belief, known = lookahead.now, context.known
        ending = self.ending(lookahead)
        max_open_assignments = np.minimum(self.shortfall(lookahead), ending.room)
        so_far = np.minimum(self.requirement.progress(lookahead), belief.total > 0)
        priority = self.priority(lookahead)
        return Judgement(
            belief=belief,
            winner=ending.winner,
            closed=ending.closed,
            tier=self.tier(priority, belief.total),
            priority=priority,
            max_open_assignments=np.where(ending.closed, 0.0, max_open_assignments),
            progress=np.where(ending.satisfied | known, 1.0, so_far),
            confidence=np.where(known, 1.0, self.confidence(belief)),
        )

    def confidence(self, belief: Belief) -> Array:
        """How likely the result is the right one, shape (items,): calibrated where truth is known."""
        return (
            self.requirement.certainty(belief) if self.calibration is None else belief.confidence(self.calibration.of)
        )

    def ending(self, lookahead: Lookahead) -> Ending:
        """Which items are finished, by their answers or because their label was known."""
        belief = lookahead.now
        requirement, room, context = self.requirement, self._room(belief), belief.context
        satisfied = requirement.satisfied(belief) & (belief.total >= self.policy.min_labels)
        closed = satisfied | (room <= 0) | requirement.not_worth_asking(belief) | context.known
        closed |= self._out_of_reach(lookahead, room)
        winner = np.where(satisfied, requirement.winner(belief), NOBODY)
        if context.gold is not None:
            winner = np.where(context.known, context.gold, winner)
        return Ending(satisfied, closed, winner, room)

    def shortfall(self, lookahead: Lookahead) -> Array:
        """The fewest further answers that could satisfy the job's requirement, shape (items,), whatever its limits."""
        return np.maximum(self.requirement.shortfall(lookahead), self.policy.min_labels - lookahead.now.total)

    def priority(self, lookahead: Lookahead) -> Array:
        """The value of one more answer of the lookahead's worker, per cost of the item; shape (items,).

        An answer on a trial item is valued `trial_lift` times as high: such items come first, but not at any price.
        """
        value = priority_of(self.allocation, lookahead, self._job_context)
        trial = self.on_trial(lookahead.context, lookahead.now.total)
        if trial is not None:
            value = np.where(trial & (value > 0), TUNED.pair.trial_lift * value, value)
        return significant(value)

    def tier(self, value: Array, answers: Array) -> IntArray:
        """The tier of items with this priority and this many answers, shape (items,): 0 is asked first.

        Without `finish_first` there is one tier. With it, begun items come before fresh ones; an item whose next answer
        has no value waits behind those whose next answer has some. Allocations that only rank items have no positive
        value at all: then begun items come before fresh ones in tiers 2 and 3.
        """
        if not self._begun_first:
            return np.zeros(value.shape, dtype=np.int64)
        return np.asarray(2 * (value <= 0) + (answers <= 0), dtype=np.int64)

    def on_trial(self, context: ItemContext, answers: Array) -> Mask | None:
        """Which items with this many answers are on trial, shape (items,); None: none."""
        if not self._has_trial:
            return None
        return self.policy.worker_choice.on_trial(context, answers, self._job_context.paid_for(context))

    def value_for(self, state: State, context: ItemContext, skill: Array) -> Array:
        """The value per cost of an answer of the worker with skill[i] on item i, shape (items,)."""
        return self.priority(self.lookahead(state, context, skill))

    def values_for(self, state: State, context: ItemContext, skills: Array) -> Array:
        """The same for workers of each of these skills, (workers, parameters); shape (items, workers)."""
        items, workers = len(state.votes), len(skills)
        each = np.repeat(np.arange(items), workers)
        every_pair = State(state.votes[each], state.model_state[each])
        return self.value_for(every_pair, context.rows(each), np.tile(skills, (items, 1))).reshape(items, workers)

    def information_of_workers(self, skill: Array, price: Array, answers: Array | IntArray) -> Array:
        """The `relative_information` of one more answer of each worker on a fresh item; shape (*, workers)."""
        every = skill.reshape(-1, skill.shape[-1])
        context, doubt = ItemContext.plain(len(every)), TUNED.low_information.doubt
        fresh, information = self.initial(context), self.policy.answer.allocation(Information())
        expected, better, worse = (
            information.value(self.lookahead(fresh, context, each), self._job_context).reshape(skill.shape[:-1])
            for each in (every, *(self.model.optimistic(every, bonus) for bonus in (doubt, -doubt)))
        )
        return relative_information(np.maximum(better, worse), expected, price, answers)

    def low_information(self, skill: Array, price: Array, answers: Array | IntArray) -> Mask:
        """Which workers get no new work, by the skills of a fit and how many answers they gave; shape (*, workers)."""
        choice = self.policy.worker_choice
        if not (choice.marks_low_information and self.knows_workers):
            return np.zeros(skill.shape[:-1], dtype=bool)
        return choice.low_information(self.information_of_workers(skill, price, answers), answers)

    def accuracies(self, skills: list[Array]) -> list[float] | list[None]:
        """How often workers of these skills are right; None where the worker model does not say."""
        if not skills or np.isnan(self.model.interval(self.newcomer()[None, :])).any():
            return [None] * len(skills)
        found: list[float] = self.model.accuracy(np.array(skills)).tolist()
        return found

    def verdict(self, judgement: Judgement, item: int) -> Verdict:
        """The judgement of one item in words."""
        belief = judgement.belief
        label = int(judgement.winner[item])
        if belief.context.known[item]:
            reason = Reason("gold", "The true label of this item was known from the start.")
            return Verdict(Decision.STOP, reason, label)
        reason = self.requirement.reason(belief, item)
        if not judgement.closed[item]:
            satisfied = bool(self.requirement.satisfied(belief)[item])  # by the item's prior, before the first answer
            unmet = Count(labels=self.policy.min_labels).reason(belief, item) if satisfied else reason
            return Verdict(Decision.CONTINUE, unmet)
        if label != NOBODY:
            return Verdict(Decision.STOP, reason, label)
        return Verdict(Decision.GIVE_UP, self._why_given_up(belief, item, reason))

    def explain(
        self, decision: Reason, max_open_assignments: int, *, on_trial: bool = False, second_opinion: bool = False
    ) -> Reason:
        """Why an item with this decision, which may get this many more answers, is the one to ask about."""
        why = "This item has the highest priority of those open to this worker."
        if on_trial:
            why = "This is one of a few items that are asked first, to learn how good the workers are."
        if second_opinion:
            why = "This is a second opinion: the job drew a worker at random from those it trusts less so far."
        answers = "answer" if max_open_assignments == 1 else "answers"
        return Reason(
            self.policy.allocation.kind,
            f"{why} {decision.message} {max_open_assignments} more {answers} could finish it.",
        )

    def tie_breaks(self, numbers: IntArray) -> IntArray:
        """A fixed random number per item, from the job's seed: among equal priorities the smallest goes first."""
        return (scramble(self.policy.seed, numbers) >> np.uint64(1)).astype(np.int64)

    def _out_of_reach(self, lookahead: Lookahead, room: Array) -> Mask:
        """Which items cannot meet the requirement within the limits, even if all further answers agree; shape (items,).

        By the accuracy that labels are as likely above as below, by the items of known truth. Without such items there
        is no telling. Every item gets its minimum number of labels.
        """
        if self._reachable is None:
            return np.zeros(len(room), dtype=bool)
        needed = self._reachable.shortfall(lookahead)
        return np.asarray((needed > np.minimum(room, HORIZON - 1)) & (lookahead.now.total >= self.policy.min_labels))

    def _room(self, belief: Belief) -> Array:
        """How many more answers the limits allow, shape (items,)."""
        room = np.full(len(belief.votes), np.inf)
        if self.policy.max_labels is not None:
            room = np.minimum(room, self.policy.max_labels - belief.total)
        if self.policy.max_votes_per_label is not None and self.policy.labels:
            room = np.minimum(room, self.policy.max_votes_per_label - belief.votes.max(axis=1))
        return room

    def _why_given_up(self, belief: Belief, item: int, unmet: Reason) -> Reason:
        if self.requirement.not_worth_asking(belief)[item]:
            return unmet
        if self.requirement.satisfied(belief)[item]:
            return Reason("tie", f"{unmet.message} No label is ahead of the others.")
        given, limit = belief.total[item], self.policy.max_labels
        if self._room(belief)[item] > 0:
            return Reason(
                "crowd-cannot-reach", f"{unmet.message} Further answers of this crowd would not make it that sure."
            )
        if limit is not None and given >= limit:
            return Reason("max-labels", f"{unmet.message} The item has {given:g} labels, the most that the job allows.")
        return Reason(
            "max-votes-per-label",
            f"{unmet.message} One label has {belief.votes[item].max():g} votes, the most that the job allows.",
        )


def priority_of(allocation: Allocation, lookahead: Lookahead, job: JobContext) -> Array:
    """The value of one more answer per cost of the item, or the value itself for allocations that ignore the cost.

    Values that are equal on paper must be equal, so they are rounded. An allocation that breaks ties does so before the
    division: then its draw never outweighs a difference in value.
    """

    def value(part: Lookahead) -> Array:
        return allocation.value(part, job)

    if not allocation.per_cost:
        return value(lookahead)
    by_votes_alone = not (allocation.uses | job.requirement.uses) & ~Uses.WORKER
    found = lookahead.once_per_votes(value) if by_votes_alone else lookahead.in_parts(value, only_votes=False)
    found = found + allocation.tie_break(lookahead) if allocation.breaks_ties else np.round(found, DECIMALS)
    return np.asarray(found / lookahead.context.cost)


def stays_closed(
    was_open: npt.ArrayLike, was_resolved: npt.ArrayLike, is_resolved: npt.ArrayLike, *, corrects: bool
) -> Mask:
    """Which items keep the decision that they have, whatever the new judgement says; shape (items,).

    An open item takes the new judgement. A closed one keeps its decision. Where a fit or a recount `corrects` labels, a
    resolved item may change to another label that is good enough, but it never opens again and is never given up.

    >>> was_open, was_resolved = np.array([True, False, False, False]), np.array([False, True, True, False])
    >>> stays_closed(was_open, was_resolved, np.array([True, True, False, True]), corrects=True).tolist()
    [False, False, True, True]
    >>> stays_closed(was_open, was_resolved, np.array([True, True, False, True]), corrects=False).tolist()
    [False, True, True, True]
    """
    takes: Mask = np.asarray(was_open, dtype=bool)
    if corrects:
        takes = takes | np.logical_and(was_resolved, is_resolved)
    return np.asarray(np.logical_not(takes))
