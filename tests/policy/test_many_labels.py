"""Jobs of many labels are fast, or refused with a sentence that names a combination which works."""

import re
import time

import numpy as np
import pytest

from app.policy.answers import ChoicesAnswer
from app.policy.core.belief import ItemContext
from app.policy.core.dirichlet import _by_quadrature
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from bench.many_labels import ALLOCATIONS, MOST_CHOICES, REQUIREMENTS, milliseconds, policies
from tests.depth import DEEP

# Where they were set, the reference took 0.7 ms, the slowest judgement of 200 labels 20 ms, of 1,000 labels 45 ms.
_MOST_REFERENCES = {50: 40, 200: 40, 1000: 100}
_SLOWEST = tuple(each for each in ALLOCATIONS if each["kind"] == "requallo")


def reference() -> float:
    """The milliseconds of something that does not depend on the code of a judgement: incomplete gamma functions."""
    alpha = np.linspace(1, 9, 200)[None]
    took = []
    for _ in range(5):
        began = time.process_time()
        _by_quadrature(alpha)
        took.append((time.process_time() - began) * 1000)
    return min(took)


@pytest.mark.parametrize(
    ("labels", "answer", "allocations", "models"),
    [
        (200, "choice", ALLOCATIONS if DEEP else _SLOWEST, 6),
        (200, "ordinal", _SLOWEST, 6),
        (1000, "choice", _SLOWEST, 6),
        pytest.param(
            *(MOST_CHOICES, "choices", _SLOWEST, 5),
            marks=pytest.mark.skipif(not DEEP, reason="takes a third of a minute: CI runs it (SUFFICE_DEEP)"),
        ),
    ],
)
def test_every_combination_is_fast_or_refused(labels, answer, allocations, models):
    """By processor time, in the best of up to three tries; a refusal names a worker model that is accepted."""
    slow, refusals, accepted = [], set(), 0
    bound = _MOST_REFERENCES[labels] * reference()
    for name, policy in policies(labels, answer, allocations):
        if isinstance(policy, str):
            refusals.add(policy)
            continue
        accepted += 1
        if all(milliseconds(policy) > bound for _ in range(3)):
            slow.append(name)
    assert not slow
    assert accepted >= models * len(REQUIREMENTS) * len(allocations)
    for refusal in (each for each in refusals if "takes jobs whose answers are" not in each):
        works = re.search(r"; ([\w-]+) takes any number$", refusal)[1]
        JobPolicy(labels=tuple(map(str, range(labels))), worker_model={"kind": works})


@pytest.mark.parametrize("labels", [2, 3])
def test_sets_are_learned_with_a_matrix_per_worker(labels):
    """Each question has two classes, however many labels a set has."""
    names = tuple(map(str, range(labels)))
    engine = Engine(JobPolicy(answer=ChoicesAnswer(), labels=names, worker_model={"kind": "confusion"}))
    context = ItemContext.plain(1)
    state, skill = engine.initial(context), engine.newcomer()[None]
    assert skill.shape == (1, 4)
    for _ in range(3):
        state, skill = engine.learn(state, context, skill, np.array([1]))
    assert engine.judge(state, context).winner.tolist() == [1]
