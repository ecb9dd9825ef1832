"""`random` asks about items that are added later as often as about those that have answers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from app.policy.allocation import RandomChoice
from app.policy.allocation.base import JobContext
from app.policy.core.belief import ItemContext, State
from app.policy.core.lookahead import Lookahead
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.requirements import Ratio
from app.policy.worker_models import Anonymous

EARLY, LATE, BEFORE, AFTER, SEEDS = 12, 12, 60, 24, 120


class Asking:
    """A job whose items are asked one by one, each valued again only after its own answer."""

    def __init__(self, seed: int, items: int) -> None:
        self.seed, self.items = seed, items
        self.answers, self.joined = np.zeros(items), np.zeros(items)
        self.priority = self.valued(np.arange(items))

    def valued(self, which: np.ndarray) -> np.ndarray:
        plain = ItemContext.plain(len(which), self.seed)
        context = replace(plain, number=which + 1, joined=self.joined[which])
        state = State(np.column_stack([self.answers[which], np.zeros(len(which))]), np.empty((len(which), 0)))
        return RandomChoice().value(Lookahead.of(Anonymous(), state, context), JobContext(Ratio()))

    def ask(self) -> int:
        item = int(self.priority.argmax())
        self.answers[item] += 1
        self.priority[item] = self.valued(np.array([item]))[0]
        return item

    def add(self, items: int, joined: float) -> None:
        first, self.items = self.items, self.items + items
        self.answers = np.append(self.answers, np.zeros(items))
        self.joined = np.append(self.joined, np.full(items, joined))
        self.priority = np.append(self.priority, self.valued(np.arange(first, self.items)))


def asked_after_joining(seed: int, *, at_the_head: bool) -> list[int]:
    """The items of the questions that follow the one which was next when the late items joined."""
    job = Asking(seed, EARLY)
    for _ in range(BEFORE):
        job.ask()
    head = -float(job.priority.max())
    job.add(LATE, head if at_the_head else 0.0)
    if at_the_head:
        assert job.ask() < EARLY
    return [job.ask() for _ in range(AFTER)]


def test_every_open_item_is_equally_likely_after_others_have_joined():
    """A chi-squared test over items: the same share for each, early or late."""
    asked = np.concatenate([asked_after_joining(seed, at_the_head=True) for seed in range(SEEDS)])
    counts = np.bincount(asked, minlength=EARLY + LATE)
    assert chisquare(counts).pvalue > 0.001
    assert counts[EARLY:].sum() / counts.sum() == pytest.approx(0.5, abs=0.03)


def test_the_first_question_after_them_is_uniform_too():
    asked = [asked_after_joining(seed, at_the_head=True)[0] for seed in range(3 * SEEDS)]
    assert chisquare(np.bincount(asked, minlength=EARLY + LATE)).pvalue > 0.001


def test_with_a_clock_that_starts_at_0_late_items_would_get_nearly_all_questions():
    asked = np.concatenate([asked_after_joining(seed, at_the_head=False) for seed in range(5)])
    assert (asked >= EARLY).mean() > 0.95


def test_an_item_of_several_labels_has_one_clock():
    """The mean of a clock per label would not be exponential: an item would rarely be asked twice in a row."""
    labels = ("a", "b", "c", "d")
    engine = Engine(JobPolicy(answer={"kind": "choices"}, labels=labels, allocation={"kind": "random"}))
    context = ItemContext.plain(4000, 1)
    first = -engine.judge(engine.initial(context), context).priority
    assert first.std() == pytest.approx(first.mean(), rel=0.1)
