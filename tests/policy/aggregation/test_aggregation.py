"""Laws that every aggregation keeps, whatever its model; add a new one to MEMBERS."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from app.policy.aggregation import (
    Aggregation,
    AnyAggregation,
    Ballots,
    Consensus,
    DawidSkene,
    Glad,
    Kos,
    Majority,
    OneCoinEM,
    WeightedMajority,
)
from app.policy.core.belief import Belief
from app.policy.job_policy import JobPolicy

MEMBERS = [
    Majority(),
    WeightedMajority(),
    WeightedMajority(max_iterations=1),
    OneCoinEM(),
    OneCoinEM(class_shares="estimated"),
    OneCoinEM(method="variational"),
    DawidSkene(),
    DawidSkene(smoothing=1),
    Glad(),
    Kos(),
]
LEARN_FROM_PRIORS = [member for member in MEMBERS if member.kind not in {"majority", "kos"}]
MAXIMISE_A_LIKELIHOOD = [member for member in MEMBERS if member.kind in {"one-coin", "dawid-skene", "glad"}]


def named(member: Aggregation) -> str:
    changed = member.model_dump(exclude_defaults=True)
    return "-".join([member.kind, *(f"{field}={value}" for field, value in changed.items())])


every_member = pytest.mark.parametrize("member", MEMBERS, ids=named)
every_likelihood = pytest.mark.parametrize("member", MAXIMISE_A_LIKELIHOOD, ids=named)
seeds = pytest.mark.parametrize("seed", range(3))


def crowd(seed: int, *, items=60, workers=12, classes=3, answers_per_item=6, worst=0.4):
    """Ballots of one-coin workers, their true classes (items,) and their true skills (workers,)."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=items)
    skill = rng.uniform(worst, 0.95, size=workers)
    item = np.repeat(np.arange(items), answers_per_item)
    worker = np.concatenate([rng.permutation(workers)[:answers_per_item] for _ in range(items)])
    right = rng.random(len(item)) < skill[worker]
    other = (truth[item] + rng.integers(1, classes, size=len(item))) % classes
    label = np.where(right, truth[item], other)
    return Ballots.of(item, worker, label, items=items, workers=workers, classes=classes), truth, skill


def right_share(labels, truth) -> float:
    return float(np.mean(labels == truth))


@st.composite
def any_ballots(draw):
    items, workers, classes = draw(st.integers(1, 6)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    answer = st.tuples(st.integers(0, items - 1), st.integers(0, workers - 1), st.integers(0, classes - 1))
    columns = np.array(draw(st.lists(answer, max_size=25)), dtype=np.intp).reshape(-1, 3).T
    gold = draw(st.none() | st.lists(st.integers(-1, classes - 1), min_size=items, max_size=items))
    return Ballots.of(*columns, items=items, workers=workers, classes=classes, gold=gold)


@every_member
@settings(max_examples=40, deadline=None)
@given(ballots=any_ballots())
def test_beliefs_are_probabilities(member, ballots):
    """For any answers, probabilities are finite and sum to 1, and skills lie between 0 and 1."""
    consensus = member.fit(ballots)
    assert consensus.posterior.shape == (ballots.items, ballots.classes)
    assert (consensus.posterior >= 0).all()
    np.testing.assert_allclose(consensus.posterior.sum(axis=1), 1)
    assert consensus.skill.shape == (ballots.workers,)
    assert (consensus.skill > 0).all()
    assert (consensus.skill < 1).all()


@every_member
@settings(max_examples=40, deadline=None)
@given(ballots=any_ballots())
def test_gold_is_believed(member, ballots):
    """An item whose truth is known has that label, whatever the crowd says."""
    gold = np.full(ballots.items, -1) if ballots.gold is None else ballots.gold
    known = gold >= 0
    consensus = member.fit(ballots)
    np.testing.assert_array_equal(consensus.posterior[known, gold[known]], 1)
    if ballots.classes > 1:
        np.testing.assert_array_equal(consensus.labels()[known], gold[known])


@every_member
@seeds
def test_names_of_classes_do_not_matter(member, seed):
    """Renaming the classes permutes the posteriors and does not change the workers."""
    ballots, _, _ = crowd(seed)
    renamed = np.array([2, 0, 1])
    before, after = member.fit(ballots), member.fit(replace(ballots, label=renamed[ballots.label]))
    np.testing.assert_allclose(after.posterior[:, renamed], before.posterior, atol=1e-6)
    np.testing.assert_allclose(after.skill, before.skill, atol=1e-6)


@every_member
@seeds
def test_names_of_items_and_workers_do_not_matter(member, seed):
    """Renaming items and workers renames the results, and nothing else."""
    ballots, _, _ = crowd(seed)
    rng = np.random.default_rng(seed)
    item, worker = rng.permutation(ballots.items), rng.permutation(ballots.workers)
    before = member.fit(ballots)
    after = member.fit(replace(ballots, item=item[ballots.item], worker=worker[ballots.worker]))
    np.testing.assert_allclose(after.posterior[item], before.posterior, atol=1e-6)
    np.testing.assert_allclose(after.skill[worker], before.skill, atol=1e-6)


@every_member
@seeds
def test_order_of_answers_does_not_matter(member, seed):
    """The same answers in another order give the same result."""
    ballots, _, _ = crowd(seed)
    order = np.random.default_rng(seed).permutation(len(ballots.item))
    shuffled = Ballots.of(ballots.item[order], ballots.worker[order], ballots.label[order])
    np.testing.assert_allclose(member.fit(shuffled).posterior, member.fit(ballots).posterior, atol=1e-6)


@every_member
def test_same_answers_same_result(member):
    """Nothing is random: two fits agree to the last bit."""
    ballots, _, _ = crowd(0)
    first, second = member.fit(ballots), member.fit(ballots)
    np.testing.assert_array_equal(first.posterior, second.posterior)
    np.testing.assert_array_equal(first.skill, second.skill)


@every_member
def test_an_item_without_answers_has_no_label(member):
    """It keeps its prior, uniform or the shares of the classes, and does not change any other item."""
    ballots, _, _ = crowd(1)
    alone, accompanied = member.fit(ballots), member.fit(replace(ballots, items=ballots.items + 2))
    np.testing.assert_allclose(accompanied.posterior[:-2], alone.posterior, atol=1e-6)
    np.testing.assert_array_equal(accompanied.labels()[-2:], [-1, -1])
    estimated = member.kind == "dawid-skene" or getattr(member, "class_shares", None) == "estimated"
    beforehand = alone.posterior.mean(axis=0) if estimated else np.full(3, 1 / 3)
    np.testing.assert_allclose(accompanied.posterior[-1], beforehand, atol=0.02)
    np.testing.assert_array_equal(accompanied.posterior[-1], accompanied.posterior[-2])


@every_member
def test_a_tie_has_no_label(member):
    """The order of the classes does not decide one vote against one by workers without other answers."""
    assert member.fit(Ballots.of(item=[0, 0], worker=[0, 1], label=[0, 1])).labels().tolist() == [-1]


@every_member
def test_a_unanimous_crowd_is_followed(member):
    """If all workers agree, their label wins on every item, and no worker's skill is below one half."""
    truth = np.array([0, 1, 2, 0, 1, 2])
    item, worker = np.divmod(np.arange(24), 4)
    consensus = member.fit(Ballots.of(item, worker, truth[item]))
    np.testing.assert_array_equal(consensus.labels(), truth)
    assert (consensus.skill > 0.5).all()


@every_member
def test_a_reliable_crowd_is_understood(member):
    """On a thousand items with nine answers each, no member is less accurate than the majority by over half a point."""
    ballots, truth, _ = crowd(7, items=1000, workers=60, answers_per_item=9)
    assert (
        right_share(member.fit(ballots).labels(), truth) >= right_share(Majority().fit(ballots).labels(), truth) - 0.005
    )


@pytest.mark.parametrize("member", [each for each in MEMBERS if each.kind in {"one-coin", "dawid-skene"}], ids=named)
def test_skills_are_recovered(member):
    """Estimated skills are close to the true skills of the simulated crowd."""
    ballots, _, skill = crowd(3, items=1500, workers=40, answers_per_item=7)
    consensus = member.fit(ballots)
    assert np.abs(consensus.skill - skill).mean() < 0.025
    assert np.abs(consensus.skill - skill).mean() < np.abs(Majority().fit(ballots).skill - skill).mean()


@pytest.mark.parametrize("member", [each for each in MEMBERS if each.kind != "majority"], ids=named)
def test_gold_exposes_a_crowd_that_is_mostly_wrong(member):
    """Three of five workers always give the wrong answer; gold on three quarters of the items shows it."""
    truth = np.random.default_rng(0).integers(2, size=80)
    item, worker = np.divmod(np.arange(400), 5)
    label = np.where(worker < 3, 1 - truth[item], truth[item])
    gold = np.where(np.arange(80) < 60, truth, -1)
    np.testing.assert_array_equal(member.fit(Ballots.of(item, worker, label, gold=gold)).labels(), truth)


@pytest.mark.parametrize("member", LEARN_FROM_PRIORS, ids=named)
def test_a_trusted_worker_decides_a_tie(member):
    """One vote against one: the worker with fifty right answers elsewhere wins against one with as many wrong."""
    ballots = Ballots.of(item=[0, 0], worker=[0, 1], label=[0, 1])
    consensus = member.fit(ballots, worker_prior=np.array([[5.0, 45.0], [45.0, 5.0]]))
    assert consensus.labels().tolist() == [1]


@every_member
def test_priors_count_as_answers_in_the_skill(member):
    """A worker without answers has the skill of the prior, with Jeffreys's half counts."""
    ballots = replace(crowd(0)[0], workers=14)
    prior = np.zeros((14, 2))
    prior[12:] = [[9, 1], [900, 100]]
    consensus = member.fit(ballots, worker_prior=prior)
    np.testing.assert_allclose(consensus.skill[12:], [9.5 / 11, 900.5 / 1001])


@every_likelihood
@seeds
def test_the_climb_never_descends(member, seed):
    """No further round lowers the log-likelihood, priors included."""
    ballots, _, _ = crowd(seed, worst=0.2)
    rounds = [member.model_copy(update={"max_iterations": n, "tolerance": 0.0}) for n in range(1, 25)]
    heights = np.array([each.fit(ballots).log_likelihood for each in rounds])
    # The shares of classes include a pseudo-item of one millionth, which one-coin's log-likelihood does not include.
    assert np.diff(heights).min() >= -1e-5
    assert heights[-1] > heights[0]


@every_likelihood
def test_convergence_is_told(member):
    """A fit that was stopped says so; one that converged took fewer rounds than the limit."""
    ballots, _, _ = crowd(4)
    stopped = member.model_copy(update={"max_iterations": 2, "tolerance": 0.0}).fit(ballots)
    rested = member.model_copy(update={"max_iterations": 5000}).fit(ballots)
    assert (stopped.iterations, stopped.converged) == (2, False)
    assert rested.converged
    assert 2 < rested.iterations < 5000


@pytest.mark.parametrize("member", MEMBERS, ids=named)
def test_a_job_can_name_it(member):
    """A job stores its configuration as JSON and reads back the same aggregation."""
    document = TypeAdapter(AnyAggregation).dump_json(member)
    assert TypeAdapter(AnyAggregation).validate_json(document) == member
    assert JobPolicy(labels=("a", "b"), aggregation=member.model_dump()).aggregation == member


def test_unknown_settings_are_refused():
    """A misspelt setting is an error, not a default."""
    with pytest.raises(ValidationError, match="smothing"):
        TypeAdapter(AnyAggregation).validate_python({"kind": "dawid-skene", "smothing": 1})


@pytest.mark.parametrize(
    ("columns", "counts", "message"),
    [
        (([0, 1], [0], [0]), {}, "same length"),
        (([0], [0], [2]), {"classes": 2}, "a label is outside 0..1"),
        (([-1], [0], [0]), {}, "an? item is outside"),
        (([0], [0], [0]), {"gold": [3]}, "gold must have one class"),
        (([0], [0], [0]), {"gold": [0, 0]}, "gold must have one class"),
        (([], [], []), {"items": 1}, "must be given"),
    ],
)
def test_impossible_ballots_are_refused(columns, counts, message):
    """An answer outside the counts would silently be a vote on another item."""
    with pytest.raises(ValueError, match=message):
        Ballots.of(*columns, **counts)


def test_impossible_priors_are_refused():
    """A prior with another number of workers is refused, not broadcast."""
    with pytest.raises(ValueError, match="two counts"):
        OneCoinEM().fit(crowd(0)[0], worker_prior=np.ones((1, 2)))


class FirstAnswer(Aggregation):
    """An aggregation as a contributor would write it: one method."""

    kind: str = "first-answer"

    def fit(self, ballots, worker_prior=None):  # noqa: ARG002  needs no prior
        posterior = np.full((ballots.items, ballots.classes), 1 / ballots.classes)
        item, first = np.unique(ballots.item, return_index=True)
        posterior[item] = np.eye(ballots.classes)[ballots.label[first]]
        return Consensus(posterior, ballots.informed, ballots.right_and_wrong(posterior), iterations=1, converged=True)


def test_a_new_aggregation_needs_one_method():
    """Labels, skills and the label by votes alone follow from `fit`."""
    found = FirstAnswer().fit(Ballots.of([1, 0, 0, 0], [0, 1, 2, 3], [0, 2, 1, 1], items=3))
    assert found.labels().tolist() == [2, 0, -1]
    assert found.skill.argmin() in {2, 3}
    assert FirstAnswer().labels(Belief.of([[2, 1], [1, 1]])).tolist() == [0, -1]
