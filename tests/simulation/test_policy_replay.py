"""Parallel runs decide like the plain job, and give the same figures at every budget."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.job_policy import JobPolicy
from app.policy.requirements import Count
from app.policy.worker_choice import Pull
from app.simulation.crowd_generator import Recipe, generate_answers
from app.simulation.crowds import Crowd, constant, guessers, polynomial_rates, skilled, truths
from app.simulation.group_maxima import RowMaxima
from app.simulation.named_policies import NAMES, PolicyUnknown, policy_of
from app.simulation.policy_replay import replay, selection_for, step, with_worker_choice
from app.simulation.recorded_crowd import UNKNOWN, RecordedAnswers
from app.simulation.recorded_runs import RecordedRuns
from app.simulation.selection import PairSelection
from app.simulation.sequential_replay import ask_until_done, recorded_job
from tests.depth import depth
from tests.public_sets import recorded_crowd

RUNS = 2
BIASED = {  # here confusion matrices soon predict better
    "labels": ["a", "b"],
    "worker_model": {"kind": "auto", "margin": 0},
    "requirement": {"kind": "posterior", "min_probability": 0.97},
    "refit": {"first": 25, "reopen": True},
}


def recorded(items=24, classes=2, workers=9, present=0.7, seed=5, truth_known=1.0) -> RecordedAnswers:
    """Skilled workers, one who guesses, and two who always give the same label; some answers are missing."""
    rng = np.random.default_rng(seed)
    sorts = [skilled(polynomial_rates(workers - 3, 1, rng), classes), guessers(1, classes), constant([0, 1], classes)]
    crowd = Crowd(truths(items, classes, rng), np.concatenate(sorts))
    item, worker = np.nonzero(rng.random((items, workers)) < present)
    order = rng.permutation(len(item))
    item, worker = item[order], worker[order]
    label = crowd.answers(item, worker, rng)
    truth = np.where(rng.random(items) < truth_known, crowd.truth, UNKNOWN)
    names = [
        tuple(f"{sort}{place}" for place in range(many))
        for sort, many in zip("iwc", (items, workers, classes), strict=True)
    ]
    return RecordedAnswers(*names, item, worker, label, truth)


def named(name: str, crowd: RecordedAnswers, workers: str) -> JobPolicy:
    """A policy by its name. A higher count becomes twelve: it is as strict with so few answers, and faster."""
    policy = policy_of(name, crowd.labels, workers)
    endless = isinstance(policy.requirement, Count) and policy.requirement.labels > 12
    return policy.model_copy(update={"requirement": Count(labels=12)}) if endless else policy


def fast(crowd, policy, workers, order, answers, budget, low_information=None):
    """The pairs that each run asks about, in order; `low_information` collects the excluded workers after each step."""
    runs = RecordedRuns(crowd, policy, RUNS, budget=budget)
    selection = selection_for(runs, workers, order)
    while runs.given.max() < answers and step(runs, selection):
        if low_information is not None:
            low_information.append(runs.low_information.copy())
    taken = [runs.taken[run, : runs.given[run]] for run in range(RUNS)]
    return [list(zip(crowd.item[each].tolist(), crowd.worker[each].tolist(), strict=True)) for each in taken], runs


def plainly(crowd, policy, workers, order, answers, run, budget):
    """The same, by one job that computes all values again for every question."""
    simulated_job = recorded_job(crowd, policy, run, budget=budget)
    asks = ask_until_done(simulated_job, crowd, run, workers, order)
    while simulated_job.job.answers < answers and next(asks, None) is not None:
        pass
    return simulated_job


def compare(crowd, policy, workers, order="random", low_information=None):
    answers, policy = min(5 * len(crowd.items), len(crowd.label) - 1), with_worker_choice(policy, workers)
    side_by_side, runs = fast(crowd, policy, workers, order, answers, float(answers), low_information)
    for run, pairs in enumerate(side_by_side):
        simulated_job = plainly(crowd, policy, workers, order, answers, run, float(answers))
        assert pairs == [(item, worker) for item, worker, _ in simulated_job._answers]
        own = slice(run * runs.items, (run + 1) * runs.items)
        assert runs.label[own].tolist() == simulated_job.job.label.tolist()
        np.testing.assert_array_equal(runs.priority[own], simulated_job.job.priority)
    return side_by_side, runs


@pytest.mark.parametrize("workers", ["pull", "choose"])
@pytest.mark.parametrize("name", [each for each in [*NAMES, "requallo-p0.2", "requallo-m3"] if each != "crowdbudget"])
def test_runs_side_by_side_ask_as_the_plain_job_does(name, workers):
    """Item by item, worker by worker, and with the same verdicts in the end."""
    crowd = recorded(items=8)
    first, second = compare(crowd, named(name, crowd, workers), workers)[0]
    assert len(first) > len(crowd.items)
    assert first != second


@pytest.mark.parametrize("workers", ["pull", "choose"])
def test_runs_of_crowdbudget_ask_as_the_plain_job_does(workers):
    """Its values differ by a constant where the job does not know its items' costs, so only questions are compared."""
    crowd = recorded(items=8)
    policy, answers = policy_of("crowdbudget", crowd.labels, workers), 3 * len(crowd.items)
    pairs, _ = fast(crowd, policy, workers, "random", answers, float(answers))
    for run in range(RUNS):
        plain = plainly(crowd, policy, workers, "random", answers, run, float(answers))
        assert pairs[run] == [(item, worker) for item, worker, _ in plain._answers]


@pytest.mark.parametrize("workers", ["pull", "choose"])
def test_runs_of_the_default_job_with_three_labels_ask_as_the_plain_job_does(workers):
    """Every fit that is due is included, and the comparison of models from a hundred answers on."""
    crowd = recorded(items=21, classes=3)
    _, runs = compare(crowd, named("information", crowd, workers), workers)
    assert (runs.given >= 100).all()


@pytest.mark.parametrize("order", ["random", "recorded"])
def test_who_is_turned_away_is_not_asked_as_in_the_plain_job(order):
    """A worker whom a later fit includes again takes the old place in the order."""
    crowd = recorded(items=40, workers=14)
    choice = {"kind": "pull", "min_information_share": 1, "min_answers": 4}
    policy = named("information", crowd, "pull").model_copy(update={"worker_choice": Pull.model_validate(choice)})
    low_information: list[np.ndarray] = []
    compare(crowd, policy, "pull", order, low_information)
    change = np.diff(np.array(low_information, dtype=int), axis=0)
    assert (change > 0).any()
    assert (change < 0).any()


@pytest.mark.parametrize("workers", ["pull", "choose"])
@pytest.mark.parametrize("order", ["random", "recorded"])
def test_a_job_that_stops_reopens_and_changes_its_model_is_replayed_as_it_is(workers, order):
    crowd = recorded(items=60, workers=12)
    policy = JobPolicy.model_validate(BIASED)
    _, runs = compare(crowd, policy, workers, order)
    assert runs.stage.any(), "this crowd is one for confusion matrices"
    assert (runs.label != UNKNOWN).any()


@pytest.mark.parametrize("workers", ["pull", "choose"])
@pytest.mark.parametrize(
    "part",
    [
        {"worker_model": {"kind": "tiers"}, "requirement": {"kind": "margin", "rounding": "random"}},
        {
            "worker_model": {"kind": "two-coin"},
            "allocation": {"kind": "cvar-kg"},
            "refit": {"first": 20},
            "max_labels": 7,
        },
        {"worker_model": {"kind": "confusion"}, "min_labels": 2, "max_labels": 4},
        {"worker_model": {"kind": "anonymous"}, "requirement": {"kind": "profit", "value": 9, "loss": 9}},
        {"worker_model": {"kind": "one-coin"}, "allocation": {"kind": "kg", "ties": "first"}, "max_labels": 6},
    ],
)
def test_jobs_of_all_kinds_are_replayed_as_they_are(part, workers):
    crowd = recorded(items=10)
    _, runs = compare(crowd, JobPolicy.model_validate({"labels": crowd.labels, "seed": 11, **part}), workers)
    assert not runs.open.all()


@pytest.mark.parametrize("workers", ["pull", "choose"])
@pytest.mark.parametrize(
    "part",
    [
        {"spammers": {"min_answers": 6, "alpha": 0.4}, "requirement": {"kind": "ratio", "min_ratio": 3}},
        {"worker_model": {"kind": "weighted"}, "requirement": {"kind": "ratio", "min_ratio": 3}},
        {"worker_model": {"kind": "spam-filter"}},
        {"worker_choice": {"kind": "ucb"}},
        {"auto_gold": {}, "gold": {"first_share": 0.5, "last_share": 0.5}},
    ],
)
def test_a_job_whose_finished_items_matter_is_replayed_too(part, workers):
    """Only recorded pairs are asked, each once, and never more than the budget."""
    crowd = recorded(items=10)
    policy = JobPolicy.model_validate({"labels": crowd.labels, **part})
    first, second = replay(crowd, policy, [2, 4], runs=2, workers=workers)
    assert (first.labels <= 20).all()
    assert (second.labels >= first.labels).all()
    assert (second.accuracy > 0.6).all()
    again = replay(crowd, policy, [4], runs=1, workers=workers)[0]
    assert (again.labels[0], again.accuracy[0]) == (second.labels[0], second.accuracy[0])


@pytest.mark.parametrize("workers", ["pull", "choose"])
def test_budgets_and_seeds_do_not_touch_each_other(workers):
    """A run gives the same result alone and with others, and at a budget alone and with other budgets."""
    crowd = recorded()
    policy = policy_of("information", crowd.labels, workers)
    together = replay(crowd, policy, [3, 1, 2], runs=3, workers=workers)
    for place, budget in ((1, 1), (2, 2)):
        alone = replay(crowd, policy, [budget], runs=2, workers=workers)[0]
        assert together[place].accuracy[:2].tolist() == alone.accuracy.tolist()
    assert [each.labels.tolist() for each in together] == [[72.0] * 3, [24.0] * 3, [48.0] * 3]


@pytest.mark.parametrize("part", [{}, {"spammers": {}}], ids=["side by side", "apart"])
def test_before_the_first_answer_everything_is_a_guess(part):
    """The aggregation is fitted to the answers, and there are none."""
    crowd = recorded()
    policy = JobPolicy.model_validate({"labels": crowd.labels, "aggregation": {"kind": "dawid-skene"}, **part})
    found = replay(crowd, policy, [0.01], runs=2)[0]
    assert (found.labels.tolist(), found.accuracy.tolist()) == ([0, 0], [0.5, 0.5])


def test_all_answers_are_the_most_that_can_be_had():
    crowd = recorded()
    found = replay(crowd, policy_of("round-robin", crowd.labels, "pull"), [100], runs=1)[0]
    assert found.labels.tolist() == [len(crowd.label)]
    votes = np.zeros((24, 2))
    np.add.at(votes, (crowd.item, crowd.label), 1)
    assert found.accuracy.tolist() == [crowd.accuracy(votes)]


def test_items_without_truth_are_not_scored():
    crowd = recorded(truth_known=0.0)
    found = replay(crowd, policy_of("requallo", crowd.labels, "pull"), [3], runs=1)[0]
    assert np.isnan(found.accuracy).all()
    assert np.isnan(found.resolved_accuracy).all()
    assert found.resolved[0] > 0


def test_a_fitted_aggregation_has_the_last_word():
    """The result is Dawid and Skene's fit of the bought answers, not the majority of the votes."""
    crowd = recorded(items=60)
    policy = policy_of("round-robin", crowd.labels, "pull").model_copy(
        update={
            "aggregation": JobPolicy.model_validate(
                {"labels": ["a", "b"], "aggregation": {"kind": "dawid-skene"}}
            ).aggregation
        }
    )
    runs = RecordedRuns(crowd, policy, 1)
    selection = selection_for(runs, "pull", "recorded")
    while step(runs, selection):
        pass
    fitted = policy.aggregation.fit(runs.ballots(0))
    assert runs.scores().accuracy.tolist() == [crowd.accuracy(fitted.posterior)]


def test_an_unknown_policy_is_told_what_is_known():
    with pytest.raises(
        PolicyUnknown, match=r"There is no policy 'opt-gk'. Did you mean opt-kg\? Choose one of information, opt-kg"
    ):
        policy_of("opt-gk", ("a", "b"), "pull")


@given(data=st.data())
def test_leaders_are_the_best_of_all(data):
    """After every change, the leader is the same as in a search over all places."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    rows, places = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 30))
    value = rng.integers(0, 4, (rows, places)).astype(float)
    lot = rng.integers(0, 2**62, (rows, places)).astype(np.uint64)
    leaders = RowMaxima(value, lot)
    for _ in range(5):
        many = int(rng.integers(1, rows * places + 1))
        row, place = rng.integers(rows, size=many), rng.integers(places, size=many)
        value[row, place] = new = rng.choice([-np.inf, 0.0, 1.0], size=many)
        leaders.change(row, place, value[row, place] if len(new) else new)
        for each, best in enumerate(leaders.best().tolist()):
            open_to = np.flatnonzero(value[each] == value[each].max())
            nothing = np.isneginf(value[each]).all()
            assert best == (-1 if nothing else open_to[lot[each, open_to].argmin()])


@pytest.mark.parametrize(
    ("name", "accuracy"),
    [("round-robin", [0.728, 0.805, 0.804, 0.847]), ("opt-kg", [0.784, 0.840, 0.863, 0.882])],
)
def test_counted_votes_on_rte(name, accuracy):
    """Within four standard errors of what an independent replay of 20 seeds gave at 2 to 5 labels per item."""
    crowd = recorded_crowd("rte")
    found = replay(crowd, policy_of(name, crowd.labels, "pull"), [2, 3, 4, 5], runs=10)
    means = np.array([each.accuracy.mean() for each in found])
    errors = np.array([each.accuracy.std(ddof=1) for each in found]) * (1 / 10 + 1 / 20) ** 0.5
    assert (np.abs(means - accuracy) < 4 * errors).all(), means


@pytest.mark.parametrize(
    ("public_set", "name", "workers", "least"),
    [
        ("rte", "information", "pull", {2: 0.86, 3: 0.9, 4: 0.91}),
        ("temp", "information", "choose", {2: 0.91, 3: 0.925, 4: 0.925}),
        ("rte", "opt-kg", "choose", {3: 0.86, 4: 0.89}),
    ],
)
def test_policies_that_know_workers_on_public_sets(public_set, name, workers, least):
    """A mean of few seeds stays within two points of what ten or more give (`bench/replay.py`)."""
    crowd = recorded_crowd(public_set)
    runs = depth(1, 3)
    least = dict([*least.items()][: depth(1, 3)])  # locally the smallest budget: the others take twice the time
    found = replay(crowd, policy_of(name, crowd.labels, workers), [*least], runs=runs, workers=workers)
    means = [each.accuracy.mean() for each in found]
    assert (np.array(means) >= [*least.values()]).all(), means
    assert [each.labels.tolist() for each in found] == [[float(budget * len(crowd.items))] * runs for budget in least]


def test_requallo_on_rte_trades_labels_for_accuracy():
    """A stricter requirement costs more labels and errs less on what it resolves, as in Table 3 of Li et al. (2016)."""
    crowd = recorded_crowd("rte")
    found = [
        replay(crowd, policy_of(name, crowd.labels, "pull"), [10], runs=5)[0]
        for name in ("requallo-m3", "requallo-p0.2", "requallo-p0.1", "requallo-p0.05")
    ]
    costs = [each.labels.mean() for each in found]
    rights = [each.resolved_accuracy.mean() for each in found]
    assert costs == sorted(costs)
    assert rights == sorted(rights)


def test_pairs_are_valued_without_holding_what_that_takes_for_all_of_them():
    """Four million pairs took two gigabytes, about 470 bytes each; now only a few numbers per pair are kept."""
    crowd = generate_answers(Recipe(items=200, workers=50), np.random.default_rng(1))
    runs = RecordedRuns(crowd, policy_of("information", crowd.labels, "choose"), 40)
    tracemalloc.start()
    PairSelection(runs)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most / (40 * len(crowd.label)) < 200
