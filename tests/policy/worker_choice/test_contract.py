"""Laws that every worker choice keeps; add a new one to `cases.CHOICES`."""

import numpy as np
import pytest
from pydantic import TypeAdapter

from app.policy.worker_choice import AnyWorkerChoice, Pair, UpperConfidence, WorkerChoice
from tests.policy.worker_choice.cases import CHOICES, candidates


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: choice.kind)
def test_only_workers_with_an_item_are_asked(choice):
    """A worker without an item is not asked, however good the record; if nobody has an item, the result is None."""
    record_of_all = {
        "price": 1.0,
        "agreed_answers": np.array([9.0, 3.0, 0.0]),
        "scored_answers": np.array([9.0, 6.0, 9.0]),
    }
    assert choice.choose_from(candidates([-np.inf, 0.2, -np.inf], **record_of_all), seed=1, turn=1, items=100) == 1
    assert choice.choose_from(candidates([-np.inf] * 3, **record_of_all), seed=1, turn=1, items=100) is None
    assert choice.choose_from(candidates([], price=1.0), seed=1, turn=1, items=100) is None


@pytest.mark.parametrize("choice", [UpperConfidence(), Pair()], ids=lambda choice: choice.kind)
def test_ties_are_broken_at_random_by_seed_and_turn(choice):
    """Each worker is asked under some seed and in some turn; the same seed and turn give the same worker."""
    some = candidates([0.2, 0.1 + 0.1, 0.2], price=1.0)
    assert {choice.choose_from(some, seed, turn=1, items=100) for seed in range(40)} == {0, 1, 2}
    assert {choice.choose_from(some, seed=7, turn=turn, items=100) for turn in range(40)} == {0, 1, 2}
    assert choice.choose_from(some, seed=7, turn=3, items=100) == choice.choose_from(some, seed=7, turn=3, items=100)


def test_the_kind_selects_the_choice():
    """The union reads each choice by its kind."""
    union = TypeAdapter(AnyWorkerChoice)
    for choice in CHOICES:
        assert union.validate_python({"kind": choice.kind}) == choice


class Cheapest(WorkerChoice):
    """A choice as a contributor would write it: one method."""

    kind: str = "cheapest"

    def score(self, candidates):
        return -candidates.price


def test_a_new_choice_needs_one_method():
    """The defaults ask the best by score, exclude nobody, and have neither trial nor second opinions."""
    choice, some = Cheapest(), candidates([0.9, 0.1, 0.2], price=np.array([3.0, 2.0, 5.0]))
    assert choice.choose_from(some, seed=1, turn=1, items=0) == 1
    assert choice.compares_items  # the safe default: `best` is there if `score` reads it
    assert not choice.has_trial
    assert not choice.marks_low_information


class FirstItems(Cheapest):
    """A choice that overrides `on_trial` without setting a flag."""

    def on_trial(self, context, answers, paid_for):  # noqa: ARG002  by number alone
        return context.number < 3


class NoBeginners(Cheapest):
    """A choice that overrides `low_information` without setting a flag."""

    def low_information(self, information, answers):  # noqa: ARG002  by answers alone
        return answers < 5


def test_what_a_choice_overrides_cannot_be_overlooked():
    """The engine checks these flags before it calls the methods, so the flags follow from what the class defines."""
    assert FirstItems().has_trial
    assert NoBeginners().marks_low_information
