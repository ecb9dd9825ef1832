"""The papers' claims hold for our engine, and the parts of the experiments are correct."""

import numpy as np
import pytest

from app.experiments import cost_sensitive_table_3 as dispatching
from app.experiments import crowdbudget_figures as crowdbudget
from app.experiments import how_many_workers_figures_3_4 as stopping
from app.experiments import requallo_figure_3 as splice
from app.experiments import requallo_figures as requallo
from app.experiments.anonymous_replay import NO_ANSWER, replay_until_closed, votes_at_budgets
from app.experiments.answer_order import shuffled_answers
from app.experiments.cost_sensitive_figures import ACCURACY_COST, CROWDSCREEN, extra_workers
from app.experiments.crowdscreen import cheapest
from app.experiments.experiment import Setting
from app.experiments.optimistic_kg_features import section_5
from app.experiments.requallo_figures import LU, OPT_KG, P02
from app.experiments.stopping_grid import expected, of_count, of_majority, of_strategy
from app.policy.allocation import LabelUncertainty
from app.policy.core.belief import ItemContext
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.planning.cost_sensitive import Prior, best_strategy
from app.policy.requirements import Count, Significance
from app.policy.worker_models import Anonymous
from app.simulation.memory_job import MemoryJob
from app.simulation.recorded_crowd import RecordedAnswers
from tests.depth import DEEP
from tests.public_sets import public_set, recorded_crowd


def test_requallo_labels_twice_as_many_items_from_two_labels_per_item():
    """Li et al. (WSDM 2016, Figure 1a): at least 350 items with three labels, Opt-KG and LU fewer than 200."""
    crowd = recorded_crowd("rte")
    spent = requallo.spend(crowd, (P02, OPT_KG, LU), [2 * len(crowd.items)], seeds=2)
    assert spent[P02].labeled.min() >= 350
    assert spent[OPT_KG].labeled.max() < 200
    assert spent[LU].labeled.max() < 200


@pytest.mark.parametrize(("epsilon", "c"), [(0.1, 1.6), (0.2, 1.8), (0.3, 2.1)])
def test_six_labels_reach_the_error_of_ten(epsilon, c):
    """Abraham et al. (SIGIR 2016, Figure 4): error .112 or less with 6.2 labels or fewer; ten fixed ones have .103."""
    crowd = recorded_crowd("rte")
    answers, truth = shuffled_answers(crowd, 20, np.random.default_rng(1)).reshape(-1, 10), np.tile(crowd.truth, 20)
    found = stopping.adaptive(answers, truth, c, epsilon)
    assert found.error <= 0.112
    assert found.cost <= 6.2
    assert round(stopping.fixed(answers, truth, 10).error, 3) == 0.103


def test_the_cut_of_the_game_is_the_one_that_is_described():
    """At least 20 labels, two classes: 1,682 items and 157,878 labels, and no majority is wrong."""
    cut = requallo.cut_of_the_game(recorded_crowd("millionaire"))
    votes = np.zeros((len(cut.items), 2))
    np.add.at(votes, (cut.item, cut.label), 1)
    assert (len(cut.items), len(cut.item)) == (1682, 157_878)
    assert (votes[:, 1] >= votes[:, 0]).all()


def small_crowd():
    item = np.repeat(np.arange(6), [3, 5, 5, 2, 5, 4])
    label = np.random.default_rng(3).integers(2, size=len(item))
    keys = tuple(map(str, range(6)))
    return RecordedAnswers(keys, keys, ("0", "1"), item, np.arange(len(item)) % 6, label, np.zeros(6, dtype=np.int64))


def test_shuffling_keeps_each_items_answers():
    crowd = small_crowd()
    for run in shuffled_answers(crowd, 4, np.random.default_rng(1)):
        for item, row in enumerate(run):
            assert sorted(row[row != NO_ANSWER]) == sorted(crowd.label[crowd.item == item])
    assert shuffled_answers(crowd, 2, np.random.default_rng(1), depth=3).shape == (2, 6, 3)


def test_side_by_side_is_one_after_the_other():
    """Each item closes with the same votes and label as in a job that asks about one item after the other."""
    policy = JobPolicy(
        labels=("0", "1"), requirement=Significance(alpha=0.2), worker_model=Anonymous(), max_votes_per_label=4
    )
    answers = np.random.default_rng(5).integers(2, size=(40, 9))
    answers[:10, 4:] = NO_ANSWER
    votes, label = replay_until_closed(Engine(policy), answers)
    job = MemoryJob(Engine(policy), ItemContext.plain(40), workers=9)
    for item, row in enumerate(answers):
        for turn, answer in enumerate(row):
            if job.open[item] and answer != NO_ANSWER:
                job.take_one(item, turn, answer)
    assert votes.tolist() == job.state(np.arange(40)).votes.tolist()
    assert label.tolist() == job.label.tolist()
    assert (label == -1).any()


def test_a_budget_is_spent_where_the_priority_is_highest():
    """First one label for each item, then more where the label is uncertain; never more labels than there are."""
    policy = JobPolicy(
        labels=("0", "1"),
        requirement=Count(labels=9),
        allocation=LabelUncertainty(),
        worker_model=Anonymous(),
        max_votes_per_label=None,
    )
    answers = shuffled_answers(small_crowd(), 3, np.random.default_rng(2))
    total = int((answers[0] != NO_ANSWER).sum())
    one_each, two_more, all_of_them, beyond = votes_at_budgets(
        policy, answers, [6, 8, total, total + 3], np.random.default_rng(1)
    )
    assert (one_each.sum(axis=-1) == 1).all()
    assert (two_more.sum(axis=(1, 2)) == 8).all()
    assert (all_of_them.sum(axis=-1) == (answers != NO_ANSWER).sum(axis=-1)).all()
    assert (beyond == all_of_them).all()


@pytest.mark.parametrize("loss", [20.0, 50.0, 100.0])
def test_the_linear_program_finds_what_dynamic_programming_does(loss):
    """No strategy with the same error, even a random one, is cheaper than Algorithm 1 of Gao et al."""
    prior = Prior(6, 2)
    strategy = best_strategy(prior, loss)
    error = 1 - strategy.accuracy
    answers, stop = cheapest(prior, error, 60)
    assert answers == pytest.approx(strategy.answers, rel=1e-6)
    assert expected(stop, prior).accuracy == pytest.approx(1 - error, abs=1e-7)
    assert expected(of_strategy(strategy), prior).answers == pytest.approx(answers, rel=1e-6)


def test_the_linear_program_keeps_its_bounds():
    """With one accuracy for all questions, the program's cost and error are those of the strategy it returns."""
    for error, most in ((0.1, 12), (0.03, 20), (0.01, 40)):
        answers, stop = cheapest(0.75, error, most)
        found = expected(stop, 0.75)
        assert (1 - found.accuracy, found.answers) == (pytest.approx(error, abs=1e-6), pytest.approx(answers, rel=1e-6))
    with pytest.raises(ValueError, match="at most 3 answers"):
        cheapest(0.75, 0.01, 3)


def test_a_majority_is_as_right_when_it_stops_early():
    for workers in (3, 7, 15):
        early, late = (expected(rule(workers), Prior(6, 2)) for rule in (of_majority, of_count))
        assert early.accuracy == pytest.approx(late.accuracy)
        assert early.answers < late.answers == workers


def test_a_wrong_belief_costs_little():
    """Gao et al. (SIGMOD 2013, Figures 12 and 13): less than 2 % more workers; CrowdScreen needs more."""
    more = extra_workers(Prior(2.25, 0.75))
    assert -0.001 < more[ACCURACY_COST] < 0.02
    assert more[CROWDSCREEN] > 0.05


@pytest.mark.parametrize("name", [crowdbudget.CROWDBUDGET, crowdbudget.UNIFORM, crowdbudget.RANDOM])
def test_no_split_overspends(name):
    prices = np.resize(crowdbudget.PRICES, 30)
    for budget in (1.0, 17.3, 250.0):
        answers = crowdbudget.split(name, budget, prices, np.random.default_rng(1))
        assert (answers >= 0).all()
        assert answers @ prices <= budget + 1e-9


def test_dispatching_wastes_fewer_answers():
    """Gao et al. (SIGMOD 2013, Table 3): 10.9 points fewer at 200 questions in a HIT."""
    dispatched, random = (
        np.mean([dispatching.effective(200, dispatched=each, seed=seed) for seed in range(6)]) for each in (True, False)
    )
    assert dispatched > random + 0.02


def test_the_cost_per_effective_question_is_the_printed_one():
    """The last row of Table 3 follows from two other rows."""
    cost = np.divide(dispatching.PRINTED_COST, dispatching.PRINTED["dispatcher"]) * 100
    np.testing.assert_allclose(cost, dispatching.PRINTED_EFFECTIVE, atol=6e-4)


@pytest.mark.skipif(not DEEP, reason="takes half a minute: CI runs it (SUFFICE_DEEP)")
def test_jobs_that_learn_from_features_of_splice_need_fewer_labels():
    """Opt-KG, section 5, by the engine of the service: the paper has no figure, but this must hold."""
    found = section_5(Setting(public_set("splice").parent, seeds=1, quick=True))
    assert all(row.agrees for row in found.rows), found.rows
    without, with_features = (float(found.rows[place].ours) for place in (2, 3))
    assert with_features > without + 0.03


def test_a_classifier_learns_splice(tmp_path):
    """Li et al. (WSDM 2016, Figure 3): F1 of .853 from the original labels; a logistic regression is as good."""
    (tmp_path / "two").write_text("+1 1:2 2:4\n-1 1:3 2:1\n")
    two = splice.read_examples(tmp_path / "two")
    assert (two.features.tolist(), two.positive.tolist()) == ([[2, 4], [3, 1]], [True, False])
    train, test = (splice.read_examples(public_set("splice") / name) for name in ("splice", "splice.t"))
    x, x_test = splice.standardised(train, test)
    assert splice.f1_score(splice.learned(x, train.positive, x_test), test.positive) == pytest.approx(0.853, abs=0.01)
