"""Keep the states and decisions of simulated items: the only module of the simulations that judges items."""

from typing import NamedTuple

import numpy as np

from app.policy.core.belief import NOBODY, Array, IntArray, ItemContext, Mask, State
from app.policy.engine import Engine, stays_closed

_MOST_REMEMBERED = 256  # rows judged at once, above which one call of the engine is faster than looking up each row


class RowDecisions(NamedTuple):
    """The part of a judgement that steers a simulation; every array is (rows,)."""

    label: IntArray  # of an item that is good enough; -1: there is none
    closed: Mask
    priority: Array
    tier: IntArray


class ItemRows:
    """Items of one job, or of several runs of it; row i of every array is one item of one run.

    Models that keep something of every answer have rows of different widths. Short rows are padded with NaN.
    """

    def __init__(self, engine: Engine, context: ItemContext, state: State | None = None) -> None:
        self.context = context
        start = engine.initial(context) if state is None else state
        self._votes = start.votes.copy()  # (rows, classes)
        self._model_state = start.model_state.copy()  # (rows, *)
        self._ragged = bool(np.isnan(start.model_state).any())
        gold = np.full(len(context.cost), -1) if context.gold is None else context.gold
        self._facts = np.column_stack([context.cost, context.open_assignments, gold])  # (rows, 3)
        self._votes_decide = context.prior is None and engine.policy.by_votes_alone  # unless the model keeps more
        self._remembered: dict[tuple[int, bytes], tuple[int, bool, float, int]] = {}
        first = decide(engine, start, context)
        self.open: Mask = ~first.closed
        self.label: IntArray = first.label.copy()  # of a resolved item; -1: there is none
        self.priority: Array = first.priority.copy()  # for a new worker, as the service stores it
        self.tier: IntArray = first.tier.copy()  # items of a lower tier are asked first

    @property
    def votes(self) -> Array:
        """The votes of all rows, shape (rows, classes)."""
        return self._votes

    def all(self) -> State:
        """The state of every row."""
        return State(self._votes, self._model_state)

    def state(self, rows: IntArray) -> State:
        """The state of these rows, as wide as the widest of them."""
        model_state = self._model_state[rows]
        if self._ragged:
            model_state = model_state[:, ~np.isnan(model_state).all(axis=0)]
        return State(self._votes[rows], model_state)

    def put(self, rows: IntArray, state: State) -> None:
        """Replace the state of these rows. Their decisions stay until they are judged.

        >>> from app.policy.job_policy import JobPolicy
        >>> rows = ItemRows(Engine(JobPolicy(labels=("a", "b"))), ItemContext.plain(2))
        >>> rows.put(np.array([0, 1]), State(np.ones((2, 2)), np.array([[7.0, 8.0, 9.0], [7.0, 8.0, 9.0]])))
        >>> rows.put(np.array([1]), State(np.ones((1, 2)), np.array([[9.0]])))
        >>> rows.state(np.array([1])).model_state.tolist()
        [[9.0]]
        """
        (items, width), new = self._model_state.shape, state.model_state.shape[1]
        if new > width:
            self._model_state = np.concatenate([self._model_state, np.full((items, new - width), np.nan)], axis=1)
        self._ragged |= new != width
        self._votes[rows] = state.votes
        self._model_state[rows, :new], self._model_state[rows, new:] = state.model_state, np.nan

    def judge(self, engine: Engine, rows: IntArray) -> None:
        """Judge the open ones of these rows. A closed item keeps its decision."""
        rows = rows[self.open[rows]]
        state = self.state(rows)
        remember = self._votes_decide and len(rows) <= _MOST_REMEMBERED and not state.model_state.shape[1]
        self._enter(rows, self._recall(engine, rows, state) if remember else self._decide(engine, rows, state))

    def restate(self, engine: Engine, rows: IntArray, state: State, *, may_reopen: bool | Mask) -> Mask:
        """Replace the state of these rows and judge them, closed ones too; returns which decisions were replaced.

        As the service does after a refit, and after votes were removed. `may_reopen` is (rows,), or one for all.
        """
        self.put(rows, state)
        decisions = self._decide(engine, rows, state)
        resolved, resolved_now = self.label[rows] != NOBODY, decisions.label != NOBODY
        replaced: Mask = may_reopen | ~stays_closed(self.open[rows], resolved, resolved_now, corrects=True)
        label, closed, priority, tier = decisions
        new = RowDecisions(label[replaced], closed[replaced], priority[replaced], tier[replaced])
        self._enter(rows[replaced], new)
        return replaced

    def _enter(self, rows: IntArray, decisions: RowDecisions) -> None:
        self.label[rows], self.open[rows] = decisions.label, ~decisions.closed
        self.priority[rows], self.tier[rows] = decisions.priority, decisions.tier

    def _decide(self, engine: Engine, rows: IntArray, state: State) -> RowDecisions:
        return decide(engine, state, self.context.rows(rows))

    def _recall(self, engine: Engine, rows: IntArray, state: State) -> RowDecisions:
        """Judge each combination of votes, cost and gold once: plain votes have only a few, which recur often."""
        pairs = zip(state.votes, self._facts[rows], strict=True)
        keys = [(engine.stage, votes.tobytes() + facts.tobytes()) for votes, facts in pairs]
        new = [place for place, key in enumerate(keys) if key not in self._remembered]
        if new:
            found = self._decide(engine, rows[new], State(state.votes[new], state.model_state[new]))
            decisions = zip(*(each.tolist() for each in found), strict=True)
            self._remembered |= zip((keys[place] for place in new), decisions, strict=True)
        if not keys:
            return self._decide(engine, rows, state)
        label, closed, priority, tier = map(np.array, zip(*(self._remembered[key] for key in keys), strict=True))
        return RowDecisions(label, closed, priority, tier)


def decide(engine: Engine, state: State, context: ItemContext) -> RowDecisions:
    """What the engine decides about items in this state."""
    lookahead = engine.lookahead(state, context)
    ending = engine.ending(lookahead)
    priority = engine.priority(lookahead)
    return RowDecisions(ending.winner, ending.closed, priority, engine.tier(priority, lookahead.now.total))
