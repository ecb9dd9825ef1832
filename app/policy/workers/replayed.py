"""Tell the answers of many items again, each weighed by what is known of its worker now."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from app.policy.aggregation.ballots import Ballots
from app.policy.belief import Array, Facts, IntArray, State


class Teller(Protocol):
    """What a worker model must do for its answers to be told again."""

    def start(self, facts: Facts, classes: int) -> State: ...

    def answered(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> State: ...


def replayed(model: Teller, ballots: Ballots, facts: Facts, skill: Array, start: State | None = None) -> State:
    """The state of every item after its answers in the order of `ballots`, each as heavy as skill[worker] makes it.

    `facts` has a row per item, `skill` is (workers, parameters); nothing is learned about workers on the way. The t-th
    answers of all items are told together, so the work is a pass over the answers and one call per round. Items begin
    without an answer, or where `start` says.

    A model that keeps something of every answer (`weighted`) has rows as wide as the item with the most answers needs,
    padded with NaN at the end; without the padding a row is what the item would have alone.

    >>> from app.policy.workers import OneCoin
    >>> model, ballots = OneCoin(), Ballots.of(item=[0, 1, 0], worker=[0, 0, 1], label=[0, 1, 0])
    >>> state = replayed(model, ballots, Facts.plain(2), np.array([[4.0, 1.0], [5.0, 5.0]]))
    >>> (state.evidence * 11).round(6).tolist()  # the second answer of item 0 came from a coin
    [[15.0, 10.0], [10.0, 15.0]]
    """
    state = model.start(facts, ballots.classes) if start is None else start
    votes, evidence = state.votes.copy(), np.array(state.evidence)
    for answers in _rounds(ballots):
        item = ballots.item[answers]
        before = State(votes[item], evidence[item])
        after = model.answered(before, facts.rows(item), skill[ballots.worker[answers]], ballots.label[answers])
        evidence = widened(evidence, after.evidence.shape[1])
        votes[item], evidence[item] = after.votes, after.evidence
    return State(votes, evidence)


def _rounds(ballots: Ballots) -> list[IntArray]:
    """Positions of the first answers of all items, then of the second ones, and so on; each item once per round."""
    by_item = np.argsort(ballots.item, kind="stable")
    answers = np.bincount(ballots.item, minlength=ballots.items)
    first = np.cumsum(answers) - answers
    turn = np.arange(len(by_item)) - first[ballots.item[by_item]]
    by_turn = by_item[np.argsort(turn, kind="stable")]
    return np.split(by_turn, np.cumsum(np.bincount(turn))[:-1]) if len(by_turn) else []


def widened(evidence: Array, width: int) -> Array:
    """Rows of at least this width, padded with NaN."""
    missing = width - evidence.shape[1]
    return evidence if missing <= 0 else np.pad(evidence, ((0, 0), (0, missing)), constant_values=np.nan)
