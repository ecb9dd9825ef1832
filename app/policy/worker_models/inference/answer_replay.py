"""Compute the state of many items from their answers, each weighed by the present skill of its worker."""

from typing import Protocol

import numpy as np

from app.policy.core.arrays import Array, Index, IntArray
from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext, State


class AnswerReplayer(Protocol):
    """What a worker model must do for its answers to be replayed."""

    def start(self, context: ItemContext, classes: int) -> State: ...

    def after_answer(self, state: State, context: ItemContext, skill: Array, label: Index) -> State: ...


def replayed(
    model: AnswerReplayer, ballots: Ballots, context: ItemContext, skill: Array, start: State | None = None
) -> State:
    """The state of every item after its answers in the order of `ballots`, each weighed by skill[worker].

    `context` has a row per item, `skill` is (workers, parameters) and does not change on the way. The t-th answers of
    all items are learned together, so the work is one pass over the answers and one call per round. Items begin without
    answers, or from `start`.

    A model that keeps something of every answer (`weighted`) has rows as wide as the item with the most answers needs,
    padded with NaN at the end. Without the padding a row is what the item would have alone.

    >>> from app.policy.worker_models import OneCoin
    >>> model, ballots = OneCoin(), Ballots.of(item=[0, 1, 0], worker=[0, 0, 1], label=[0, 1, 0])
    >>> state = replayed(model, ballots, ItemContext.plain(2), np.array([[4.0, 1.0], [5.0, 5.0]]))
    >>> (state.model_state * 11).round(6).tolist()  # the second answer on item 0 is from a worker who guesses
    [[15.0, 10.0], [10.0, 15.0]]
    """
    state = model.start(context, ballots.classes) if start is None else start
    votes, model_state, said = state.votes.copy(), np.array(state.model_state), ballots.said
    for answers in _rounds(ballots):
        item = ballots.item[answers]
        before = State(votes[item], model_state[item])
        after = model.after_answer(before, context.rows(item), skill[ballots.worker[answers]], said[answers])
        model_state = widened(model_state, after.model_state.shape[1])
        votes[item], model_state[item] = after.votes, after.model_state
    return State(votes, model_state)


def _rounds(ballots: Ballots) -> list[IntArray]:
    """Positions of the first answers of all items, then of the second ones, and so on; each item once per round."""
    by_item = np.argsort(ballots.item, kind="stable")
    answers = np.bincount(ballots.item, minlength=ballots.items)
    first = np.cumsum(answers) - answers
    turn = np.arange(len(by_item)) - first[ballots.item[by_item]]
    by_turn = by_item[np.argsort(turn, kind="stable")]
    return np.split(by_turn, np.cumsum(np.bincount(turn))[:-1]) if len(by_turn) else []


def widened(model_state: Array, width: int) -> Array:
    """Rows of at least this width, padded with NaN."""
    missing = width - model_state.shape[1]
    return model_state if missing <= 0 else np.pad(model_state, ((0, 0), (0, missing)), constant_values=np.nan)
