"""Compose a job's rules into decisions: what the service, the simulator and the replay all call."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain import Reason, Verdict
from app.policy.belief import Array, Belief, Mask
from app.policy.completeness import progress
from app.policy.rules import Rules

# Values that are equal on paper differ in the last bits of a float; ties must stay ties.
_PRIORITY_DECIMALS = 12


@dataclass(frozen=True)
class Judgement:
    """What the rules say of many items; row i of every array is item i."""

    satisfied: Mask  # (items,) the requirement holds
    exhausted: Mask  # (items,) a limit is reached and the requirement does not hold
    leader: npt.NDArray[np.intp]  # (items,) the likeliest class
    confidence: Array  # (items,) how likely it is
    priority: Array  # (items,) value of one more label per cost
    wanted: Array  # (items,) how many answers may be out at once; 0 for an item that is not open
    progress: Array  # (items,) expected completeness, 0..1


@dataclass(frozen=True)
class Engine:
    """Pure decisions for one job: the same votes and the same rules give the same numbers."""

    rules: Rules

    def initial(self, items: int = 1) -> Belief:
        """The belief before any answer."""
        return Belief(np.zeros((items, len(self.rules.labels))))

    def judge(self, belief: Belief, cost: Array) -> Judgement:
        """Decide about many items at once; `cost` has shape (items,)."""
        bar = self.rules.bar
        satisfied = bar.satisfied(belief)
        room = self._room(belief)
        is_open = ~satisfied & (room > 0)
        posterior = self.rules.worker_model.posterior(belief)
        value = self.rules.allocation.value(belief, bar) / cost
        return Judgement(
            satisfied=satisfied,
            exhausted=~satisfied & ~is_open,
            leader=posterior.argmax(axis=1),
            confidence=posterior.max(axis=1),
            priority=np.round(value, _PRIORITY_DECIMALS),
            wanted=np.where(is_open, np.minimum(bar.shortfall(belief), room), 0.0),
            progress=progress(belief, bar),
        )

    def verdict(self, belief: Belief, judgement: Judgement, item: int) -> Verdict:
        """The judgement of one item in words."""
        votes = belief.votes[item]
        reason = self.rules.bar.reason(votes)
        if judgement.satisfied[item]:
            return Verdict.stop(int(judgement.leader[item]), reason)
        if judgement.exhausted[item]:
            return Verdict.give_up(self._limit_reached(votes, reason))
        return Verdict.go_on(reason)

    def explain(self, votes: npt.ArrayLike, wanted: int) -> Reason:
        """Why an item with these votes, shape (classes,), is worth asking about."""
        state = self.rules.bar.reason(np.asarray(votes, dtype=np.float64)).message
        answers = "answer" if wanted == 1 else "answers"
        return Reason(
            self.rules.allocation.kind,
            f"the highest priority of what is open to this worker: {state}; {wanted} more {answers} could settle it",
        )

    def tie_breaks(self, item_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """A fixed random number per item, from the job's seed: between equal priorities the smallest goes first.

        SplitMix64 (Steele et al., OOPSLA 2014) over seed and position: stateless, so that any subset of the items
        gets the same numbers.
        """
        with np.errstate(over="ignore"):
            z = np.uint64(self.rules.seed) * np.uint64(0xD1342543DE82EF95) + item_ids.astype(np.uint64)
            z = z * np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z = z ^ (z >> np.uint64(31))
        return (z >> np.uint64(1)).astype(np.int64)

    def _room(self, belief: Belief) -> Array:
        """How many more labels the limits allow, shape (items,)."""
        room = np.full(len(belief.votes), np.inf)
        if self.rules.max_labels is not None:
            room = np.minimum(room, self.rules.max_labels - belief.total)
        if self.rules.max_votes_per_label is not None:
            room = np.minimum(room, self.rules.max_votes_per_label - belief.votes.max(axis=1))
        return room

    def _limit_reached(self, votes: Array, unmet: Reason) -> Reason:
        limit = self.rules.max_labels
        if limit is not None and votes.sum() >= limit:
            return Reason("max-labels", f"{votes.sum():g} labels are the most that an item may get; {unmet.message}")
        return Reason(
            "max-votes-per-label",
            f"{votes.max():g} votes are the most that one label may get; {unmet.message}",
        )
