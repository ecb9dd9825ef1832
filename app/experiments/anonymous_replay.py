"""Replay anonymous answers, several runs at once: for a budget, or until items are closed."""

from collections.abc import Callable, Sequence

import numpy as np

from app.policy.core.belief import NOBODY, Array, IntArray, ItemContext, State
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.simulation.memory_job import MemoryJob

NO_ANSWER = -1


def votes_at_budgets(policy: JobPolicy, answers: IntArray, budgets: Sequence[int], rng: np.random.Generator) -> Array:
    """The votes of all items after each number of labels per run, shape (budgets, runs, items, classes).

    `answers[r, i, k]` is the k-th answer on item i in run r; -1: no answer is left. Workers are not identified, as in
    the papers' anonymous settings, so worker k of an item is the one who answers k-th. The open item with the highest
    priority is asked about; ties are broken at random. All runs are items of one job, so that the arithmetic of a step
    is done once for all of them. A run ends when nothing is left to ask.
    """
    replay = _Replay(Engine(policy), answers, rng)
    found = []
    for step in range(max(budgets) + 1):
        if step in budgets:
            found.append(replay.votes)
        replay.ask(replay.job.priority)
    return np.array(found)


def votes_in_the_end(
    policy_for: Callable[[int], JobPolicy], answers: IntArray, budget: int, rng: np.random.Generator
) -> Array:
    """The same for a policy that depends on how many labels are left, after `budget` labels; (runs, items, classes).

    Only its priorities may depend on it.
    """
    replay = _Replay(Engine(policy_for(budget)), answers, rng)
    for left in range(budget, 0, -1):
        replay.ask(replay.priority_by(Engine(policy_for(left))))
    return replay.votes


class _Replay:
    """The runs as items of one job, and how far each has been asked about."""

    def __init__(self, engine: Engine, answers: IntArray, rng: np.random.Generator) -> None:
        self.runs, self.items, depth = answers.shape
        self.rng, rows = rng, self.runs * self.items
        self.answers = answers.reshape(rows, depth)
        self.job = MemoryJob(engine, ItemContext.plain(rows), workers=depth)
        self.asked = np.zeros(rows, dtype=np.int64)
        self.ready = (self.answers != NO_ANSWER).sum(axis=1)

    @property
    def votes(self) -> Array:
        """The votes so far, shape (runs, items, classes)."""
        return self.job.state(np.arange(len(self.answers))).votes.reshape(self.runs, self.items, -1)

    def priority_by(self, engine: Engine) -> Array:
        """The priority of every item by another engine, shape (runs * items,)."""
        return engine.priority(engine.lookahead(self.job.rows.all(), self.job.context))

    def ask(self, priority: Array) -> None:
        """Ask about the open item of each run with the highest priority that has an answer left."""
        value = np.where(self.job.open & (self.asked < self.ready), priority, -np.inf).reshape(self.runs, self.items)
        highest = value.max(axis=1, keepdims=True)
        draws = np.where(value == highest, self.rng.random(value.shape), -1.0)
        item = (draws.argmax(axis=1) + np.arange(self.runs) * self.items)[np.isfinite(highest[:, 0])]
        if len(item):
            self.job.take(item, self.asked[item], self.answers[item, self.asked[item]])
            self.asked[item] += 1


def replay_until_closed(engine: Engine, answers: IntArray) -> tuple[Array, IntArray]:
    """Ask about all items side by side until each is closed; returns votes, and labels or -1, shape (items,).

    `answers[i, k]` is the k-th answer on item i; -1: there is none. Items do not affect each other, so the order of
    asking does not matter. Use it only for worker models that keep nothing but votes.
    """
    items, depth = answers.shape
    context = ItemContext.plain(items, seed=engine.policy.seed)
    start, skill = engine.initial(context), engine.newcomer()
    votes, label = start.votes.copy(), np.full(items, NOBODY)
    going = np.arange(items)
    for turn in range(depth):
        going = going[answers[going, turn] != NO_ANSWER]
        if not len(going):
            break
        before = State(votes[going], start.model_state[going])
        after, _ = engine.learn(before, context.rows(going), np.tile(skill, (len(going), 1)), answers[going, turn])
        judgement = engine.judge(after, context.rows(going))
        votes[going], label[going] = after.votes, judgement.winner
        going = going[~judgement.closed]
    return votes, label


def share_right(votes: Array, truth: IntArray) -> Array:
    """1 where the majority is right, 1/2 at a tie of two classes, 0 where it is wrong; without the last axis of votes.

    >>> share_right(np.array([[3.0, 1.0], [1.0, 1.0], [0.0, 2.0]]), np.array([0, 0, 0])).tolist()
    [1.0, 0.5, 0.0]
    """
    top = votes == votes.max(axis=-1, keepdims=True)
    right = np.take_along_axis(top, np.broadcast_to(truth, votes.shape[:-1])[..., None], axis=-1)[..., 0]
    return np.asarray(right / top.sum(axis=-1))
