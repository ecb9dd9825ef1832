"""Let an allocation spend a budget on answers that lie ready, several runs at once."""

from collections.abc import Sequence

import numpy as np

from app.lab.job import Job
from app.policy.belief import Array, Facts, IntArray, State
from app.policy.engine import Engine
from app.policy.rules import Rules
from app.policy.shares import NOBODY

NO_ANSWER = -1


def votes_at(rules: Rules, answers: IntArray, budgets: Sequence[int], rng: np.random.Generator) -> Array:
    """The votes of all items once so many labels are bought in each run, shape (budgets, runs, items, classes).

    `answers[r, i, k]` is what the one who is asked k-th about item i in run r says; -1: nobody is left to ask. Who
    answers plays no part, as in the papers' anonymous settings, so worker k of an item is whoever comes k-th. The
    best open item by the engine's priority is asked; equal ones are drawn anew each time. All runs are items of one
    job, so that the arithmetic of a step is done once for all of them. A run ends where nothing is left to ask.
    """
    runs, items, depth = answers.shape
    lying = answers.reshape(runs * items, depth)
    job = Job(Engine(rules), Facts.plain(runs * items), workers=depth)
    asked = np.zeros(runs * items, dtype=np.int64)
    ready = (lying != NO_ANSWER).sum(axis=1)
    first_of_run = np.arange(runs) * items
    found = []
    for step in range(max(budgets) + 1):
        if step in budgets:
            found.append(job.state(np.arange(runs * items)).votes.reshape(runs, items, -1))
        value = np.where(job.open & (asked < ready), job.priority, -np.inf).reshape(runs, items)
        highest = value.max(axis=1, keepdims=True)
        lot = np.where(value == highest, rng.random(value.shape), -1.0)
        item = (lot.argmax(axis=1) + first_of_run)[np.isfinite(highest[:, 0])]
        if len(item):
            job.take(item, asked[item], lying[item, asked[item]])
            asked[item] += 1
    return np.array(found)


def until_closed(engine: Engine, answers: IntArray) -> tuple[Array, IntArray]:
    """Ask about all items side by side until each is closed: its votes, and its label or -1, shape (items,).

    `answers[i, k]` is the k-th answer on item i, -1 where there is none. No item waits for another, so this is any
    order of asking. For worker models that keep nothing but votes.
    """
    items, depth = answers.shape
    facts = Facts.plain(items, seed=engine.rules.seed)
    start, skill = engine.initial(facts), engine.newcomer()
    votes, label = start.votes.copy(), np.full(items, NOBODY)
    going = np.arange(items)
    for turn in range(depth):
        going = going[answers[going, turn] != NO_ANSWER]
        if not len(going):
            break
        before = State(votes[going], start.evidence[going])
        after, _ = engine.learn(before, facts.rows(going), np.tile(skill, (len(going), 1)), answers[going, turn])
        judgement = engine.judge(after, facts.rows(going))
        votes[going], label[going] = after.votes, judgement.winner
        going = going[~judgement.closed]
    return votes, label


def share_right(votes: Array, truth: IntArray) -> Array:
    """1 where the majority is right, 1/2 at a tie of two classes, 0 where it is wrong; shape of votes but the last.

    >>> share_right(np.array([[3.0, 1.0], [1.0, 1.0], [0.0, 2.0]]), np.array([0, 0, 0])).tolist()
    [1.0, 0.5, 0.0]
    """
    top = votes == votes.max(axis=-1, keepdims=True)
    right = np.take_along_axis(top, np.broadcast_to(truth, votes.shape[:-1])[..., None], axis=-1)[..., 0]
    return np.asarray(right / top.sum(axis=-1))
