"""Compose a job's rules into decisions: what the service, the simulator and the replay all call."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from app.domain import Reason, Verdict
from app.policy.allocation import Circumstances, Information
from app.policy.belief import Array, Belief, Facts, IntArray, Mask, State
from app.policy.chance import scramble
from app.policy.completeness import progress
from app.policy.prospect import Prospect
from app.policy.rounding import significant
from app.policy.rules import Rules
from app.policy.shares import NOBODY, Index
from app.policy.worker_choice import TRIAL_LIFT, relative_worth
from app.policy.workers import WorkerModel

_DOUBT = 0.5  # over sqrt(answers), of an accuracy: one standard error of a coin
_FAR = 1e12  # apart are begun and fresh items where begun ones come first, whatever they cost


@dataclass(frozen=True)
class Judgement:
    """What the rules say of many items; row i of every array is item i."""

    belief: Belief
    winner: Index  # (items,) the label of an item that is good enough; -1 where there is none
    closed: Mask  # (items,) no more answers are wanted, with a winner or without
    priority: Array  # (items,) what one more label is worth
    wanted: Array  # (items,) how many answers may be out at once; 0 for an item that is not open
    progress: Array  # (items,) expected completeness, 0..1

    @cached_property
    def confidence(self) -> Array:
        """How likely the leading label of each item is the right one, shape (items,)."""
        return np.where(self.belief.facts.known, 1.0, self.belief.certainty)


class Ending(NamedTuple):
    """Which items are done with, shape (items,) each."""

    satisfied: Mask  # the requirement is met
    closed: Mask  # no more answers are wanted
    winner: Index  # the label of an item that is good enough; -1 where there is none
    room: Array  # how many more labels the limits allow


@dataclass(frozen=True)
class Engine:
    """Pure decisions for one job: the same answers and the same rules give the same numbers."""

    rules: Rules
    budget: float | None = None
    inverse_costs: float = 1.0
    stage: int = 0  # of the worker model: which of several it acts as

    @cached_property
    def model(self) -> WorkerModel:
        """The worker model in force."""
        return self.rules.worker_model.acting(self.stage, len(self.rules.labels))

    def initial(self, facts: Facts) -> State:
        """The state of each item of `facts` before any answer."""
        return self.model.start(facts, len(self.rules.labels))

    def newcomer(self) -> Array:
        """The skill of a worker who has not answered yet, shape (parameters,)."""
        return self.model.newcomer(len(self.rules.labels))

    def learn(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> tuple[State, Array]:
        """State and skill after the worker with skill[i] has answered item i with label[i]."""
        return self.model.learn(state, facts, skill, label)

    def prospect(self, state: State, facts: Facts, skill: Array | None = None) -> Prospect:
        """The items as they are and as they would be, should a worker of that skill, or a newcomer, answer next."""
        return Prospect.of(self.model, state, facts, skill)

    def judge(self, state: State, facts: Facts) -> Judgement:
        """Decide about many items at once."""
        prospect = self.prospect(state, facts)
        belief, known = prospect.now, facts.known
        ending = self.ending(belief)
        wanted = np.minimum(self.shortfall(prospect), ending.room)
        so_far = np.minimum(progress(prospect, self.rules.bar), belief.total > 0)
        return Judgement(
            belief=belief,
            winner=ending.winner,
            closed=ending.closed,
            priority=self.priority(prospect),
            wanted=np.where(ending.closed, 0.0, wanted),
            progress=np.where(ending.satisfied | known, 1.0, so_far),
        )

    def ending(self, belief: Belief) -> Ending:
        """Which items are done with, by their answers or because their label was known."""
        bar, room, facts = self.rules.bar, self._room(belief), belief.facts
        satisfied = bar.satisfied(belief) & (belief.total >= self.rules.min_labels)
        closed = satisfied | (room <= 0) | bar.not_worth_asking(belief) | facts.known
        winner = np.where(satisfied, bar.winner(belief), NOBODY)
        if facts.gold is not None:
            winner = np.where(facts.known, facts.gold, winner)
        return Ending(satisfied, closed, winner, room)

    def shortfall(self, prospect: Prospect) -> Array:
        """The fewest further labels that could satisfy the job's requirement, shape (items,), whatever its limits."""
        return np.maximum(self.rules.bar.shortfall(prospect), self.rules.min_labels - prospect.now.total)

    def priority(self, prospect: Prospect) -> Array:
        """What one more label from the prospect's worker is worth, shape (items,)."""
        worth = self.rules.allocation.priority(prospect, self._circumstances)
        return significant(self._placed(worth, prospect.facts, prospect.now.total))

    def worth_alone(self, worth: Array, facts: Facts, answers: Array) -> Array:
        """What an answer is worth by itself, of what `priority` made of it for items that are asked first."""
        return worth / np.where(worth > 0, self._placed(np.ones_like(worth), facts, answers), 1.0)

    def on_trial(self, facts: Facts, answers: Array) -> Mask | None:
        """Which items with so many answers are asked first, to tell workers apart, shape (items,); None: none."""
        return self.rules.worker_choice.on_trial(facts, answers, self._circumstances.paid_for(facts))

    @cached_property
    def _circumstances(self) -> Circumstances:
        picks = self.rules.worker_choice.compares_offers
        return Circumstances(self.rules.bar, self.budget, self.inverse_costs, picks)

    def _placed(self, worth: Array, facts: Facts, answers: Array) -> Array:
        """What comes first, by how many answers items have, is lifted above the others; shape (items,)."""
        trial = self.on_trial(facts, answers)
        if trial is not None:
            worth = np.where(trial & (worth > 0), TRIAL_LIFT * worth, worth)
        if self.rules.spammers is not None and self.rules.spammers.finish_first:
            worth = _begun_first(worth, answers > 0)
        return worth

    @cached_property
    def tells_workers_apart(self) -> bool:
        """What an answer is worth can hang on whose it is."""
        return self.model.tells_workers_apart and self.rules.allocation.heeds_worker

    def worth(self, state: State, facts: Facts, skill: Array) -> Array:
        """What an answer of the worker with skill[i] on item i is worth per cost, shape (items,)."""
        return self.priority(self.prospect(state, facts, skill))

    def worths(self, state: State, facts: Facts, skills: Array) -> Array:
        """The same for workers of each of these skills, (workers, parameters), shape (items, workers)."""
        items, workers = len(state.votes), len(skills)
        each = np.repeat(np.arange(items), workers)
        every_pair = State(state.votes[each], state.evidence[each])
        return self.worth(every_pair, facts.rows(each), np.tile(skills, (items, 1))).reshape(items, workers)

    def worth_of_workers(self, skill: Array, price: Array, answers: Array | IntArray) -> Array:
        """What an answer of each worker may tell of a fresh item for its price, by `relative_worth`; (*, workers)."""
        every = skill.reshape(-1, skill.shape[-1])
        facts = Facts.plain(len(every))
        fresh = self.initial(facts)
        told, better, worse = (
            Information().value(self.prospect(fresh, facts, each), self._circumstances).reshape(skill.shape[:-1])
            for each in (every, *(self.model.optimistic(every, doubt) for doubt in (_DOUBT, -_DOUBT)))
        )
        return relative_worth(np.maximum(better, worse), told, price, answers)

    def turned_away(self, skill: Array, price: Array, answers: Array | IntArray) -> Mask:
        """Who is not wanted any more, of workers of so many answers with the skills of a fit, shape (*, workers)."""
        choice = self.rules.worker_choice
        if not (choice.turns_away and self.model.tells_workers_apart):
            return np.zeros(skill.shape[:-1], dtype=bool)
        return choice.turned_away(self.worth_of_workers(skill, price, answers), answers)

    def verdict(self, judgement: Judgement, item: int) -> Verdict:
        """The judgement of one item in words."""
        belief = judgement.belief
        if belief.facts.known[item]:
            return Verdict.stop(int(judgement.winner[item]), Reason("gold", "the right label was known from the start"))
        reason = self.rules.bar.reason(belief, item)
        if not judgement.closed[item]:
            return Verdict.go_on(reason)
        if judgement.winner[item] != NOBODY:
            return Verdict.stop(int(judgement.winner[item]), reason)
        return Verdict.give_up(self._why_given_up(belief, item, reason))

    def explain(self, standing: Reason, wanted: int, *, on_trial: bool = False, second_opinion: bool = False) -> Reason:
        """Why an item that stands like this, and wants this many more answers, is worth asking about."""
        answers = "answer" if wanted == 1 else "answers"
        why = "one of a few items that are asked first, so that workers can be told apart" if on_trial else ""
        if second_opinion:
            why = "a second opinion, of somebody drawn by lot who is less trusted so far"
        return Reason(
            self.rules.allocation.kind,
            f"{why or 'the highest priority of what is open to this worker'}: {standing.message}; "
            f"{wanted} more {answers} could settle it",
        )

    def tie_breaks(self, numbers: IntArray) -> IntArray:
        """A fixed random number per item, from the job's seed: between equal priorities the smallest goes first."""
        return (scramble(self.rules.seed, numbers) >> np.uint64(1)).astype(np.int64)

    def _room(self, belief: Belief) -> Array:
        """How many more labels the limits allow, shape (items,)."""
        room = np.full(len(belief.votes), np.inf)
        if self.rules.max_labels is not None:
            room = np.minimum(room, self.rules.max_labels - belief.total)
        if self.rules.max_votes_per_label is not None:
            room = np.minimum(room, self.rules.max_votes_per_label - belief.votes.max(axis=1))
        return room

    def _why_given_up(self, belief: Belief, item: int, unmet: Reason) -> Reason:
        if self.rules.bar.not_worth_asking(belief)[item]:
            return unmet
        if self.rules.bar.satisfied(belief)[item]:
            return Reason("tie", f"{unmet.message}, but no label is ahead of the others")
        votes, limit = belief.votes[item], self.rules.max_labels
        if limit is not None and votes.sum() >= limit:
            return Reason("max-labels", f"{votes.sum():g} labels are the most that an item may get; {unmet.message}")
        return Reason(
            "max-votes-per-label",
            f"{votes.max():g} votes are the most that one label may get; {unmet.message}",
        )


def _begun_first(worth: Array, begun: Mask) -> Array:
    """What is begun comes before what is fresh, each in the order that it had, shape (items,).

    By a factor where an answer has a price, so that workers can still be compared by what theirs is worth per cost;
    where worth is no gain but a place in a line, and so not positive, fresh items go to its end. Only a begun item
    of which another answer would teach nothing at all, as `kg` may find, waits behind fresh ones.

    >>> _begun_first(np.array([0.2, 0.1, 0.0, -3.0]), np.array([False, True, False, True])).tolist()
    [0.2, 100000000000.0, -1000000000000.0, -3.0]
    """
    gain = worth > 0
    return np.where(begun, np.where(gain, _FAR * worth, worth), np.where(gain, worth, worth - _FAR))
