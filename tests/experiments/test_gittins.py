"""The Gittins index without and with a horizon, against its definition, and as a contender of Chen et al."""

import numpy as np
import pytest

from app.experiments import optimistic_kg_figures as optkg
from app.experiments.anonymous_replay import votes_at_budgets, votes_in_the_end
from app.experiments.experiment import Setting
from app.experiments.gittins import FiniteGittins, GittinsIndex, finite_index_table, gains, index_table
from app.policy.allocation import JobContext, KnowledgeGradient, LabelUncertainty
from app.policy.core.belief import ItemContext, State
from app.policy.core.lookahead import Lookahead
from app.policy.job_policy import JobPolicy
from app.policy.requirements import Count
from app.policy.worker_models import Anonymous

COUNTED = JobContext(Count(labels=9))


def items_with(*votes):
    state = State(np.array(votes, dtype=np.float64), np.empty((len(votes), 0)))
    return Lookahead.of(Anonymous(), state, ItemContext.plain(len(votes)))


def test_gittins_is_what_the_best_stopping_time_earns_per_toss():
    """The definition: the largest ratio of discounted gain to discounted tosses over all stopping rules.

    A rule is a set of states in which to go on. With at most four tosses all rules can be tried.
    """
    size, discount = 3, 0.8
    reward = np.random.default_rng(7).random((size, size))
    states = [(won, lost) for won in range(size) for lost in range(size - won)]

    def earned(going, state):
        if state not in going:
            return np.zeros(2)
        won, lost = state
        chance = (won + 1) / (won + lost + 2)
        after = chance * earned(going, (won + 1, lost)) + (1 - chance) * earned(going, (won, lost + 1))
        return np.array([reward[state], 1.0]) + discount * after

    others = states[1:]
    policy = [{(0, 0), *(state for bit, state in enumerate(others) if number >> bit & 1)} for number in range(2**5)]
    best = max(gain / tosses for gain, tosses in (earned(going, (0, 0)) for going in policy))
    assert index_table(reward, discount)[0, 0] == pytest.approx(best, rel=1e-3)


def test_gittins_sees_what_two_answers_may_turn():
    """The knowledge gradient is 0 where one answer cannot change the majority; the index falls with the lead."""
    index = GittinsIndex(budget=500).value(items_with([0, 0], [1, 0], [2, 0], [3, 0]), COUNTED)
    assert (np.diff(index) < 0).all()
    assert index.min() > 0
    assert index[0] == pytest.approx(0.25, abs=1e-3)  # after one answer, stopping is best


def earned(reward, state, left, goes_on):
    """Expected reward and tosses of a rule that tosses now, at most `left` times, and then where `goes_on` says so."""
    won, lost = state
    after = np.zeros(2)
    if left > 1:
        chance = (won + 1) / (won + lost + 2)
        for likely, following in ((chance, (won + 1, lost)), (1 - chance, (won, lost + 1))):
            if goes_on(following, left - 1):
                after += likely * earned(reward, following, left - 1, goes_on)
    return np.array([reward[state], 1.0]) + after


@pytest.mark.parametrize(("state", "left"), [((0, 0), 1), ((0, 0), 2), ((0, 0), 3), ((1, 0), 3), ((0, 2), 2)])
def test_with_a_horizon_it_is_the_best_of_all_stopping_rules(state, left):
    """Niño-Mora (2011): the largest ratio of expected reward to expected tosses, here by trying every rule."""
    reward = np.random.default_rng(11).random((6, 6))
    won, lost = state
    later = [(won + i, lost + j) for i in range(left) for j in range(left - i) if i + j > 0]
    best = 0.0
    for number in range(2 ** len(later)):
        going = {each for bit, each in enumerate(later) if number >> bit & 1}
        gain, tosses = earned(reward, state, left, lambda following, _, going=going: following in going)
        best = max(best, gain / tosses)
    assert finite_index_table(reward, left)[left - 1][state] == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize(("state", "left"), [((0, 0), 6), ((2, 0), 9), ((4, 1), 10)])
def test_with_a_horizon_it_is_the_fixed_point_of_its_own_best_rule(state, left):
    """What the rule that is best at a charge earns per toss is a better charge, until it is the best one."""
    reward = gains(20)

    def worth(state, left, charge):
        won, lost = state
        if left == 0:
            return 0.0
        chance = (won + 1) / (won + lost + 2)
        up, down = worth((won + 1, lost), left - 1, charge), worth((won, lost + 1), left - 1, charge)
        return max(0.0, reward[state] - charge + chance * up + (1 - chance) * down)

    charge = 0.0
    for _ in range(20):
        gain, tosses = earned(
            reward, state, left, lambda following, more, charge=charge: worth(following, more, charge) > 0
        )
        charge = gain / tosses
    assert finite_index_table(reward, left)[left - 1][state] == pytest.approx(charge, rel=1e-3)


def test_one_answer_against_one_is_worth_three_sixty_fourths_of_an_item():
    """After one answer another gains nothing; with probability 1/3 there is a tie, and a third gains 3/16 of an item.

    That is 1/16 for 4/3 answers.
    """
    table = finite_index_table(gains(50), 50)
    assert table[0, 1, 0] == pytest.approx(0.0, abs=1e-9)
    assert table[1:, 1, 0] == pytest.approx(np.full(49, 3 / 64), rel=1e-4)


def test_a_longer_horizon_is_worth_more_up_to_none():
    """The index rises with the labels left, and converges to the one without a horizon and without a discount."""
    table, endless = finite_index_table(gains(100), 100), index_table(gains(400), 1.0)
    won, lost = np.nonzero(np.add(*np.indices((100, 100))) < 40)
    assert (np.diff(table[:, won, lost], axis=0) >= -1e-12).all()
    assert (table[-1][won, lost] <= endless[won, lost] * (1 + 1e-9)).all()
    few = [(0, 0), (1, 0), (2, 0), (3, 0), (1, 1), (4, 1)]
    assert [table[-1][state] for state in few] == pytest.approx([endless[state] for state in few], rel=1e-3)
    assert table[9, 3, 0] < 0.9 * endless[3, 0]


def test_with_one_label_left_it_is_the_knowledge_gradient():
    """Chen et al. (section 3.1): the knowledge gradient is optimal if only one label remains."""
    items = items_with([0, 0], [1, 0], [2, 2], [0, 3], [5, 5], [7, 6])
    gradient = KnowledgeGradient().value(items, COUNTED)
    assert FiniteGittins(left=1).value(items, COUNTED) == pytest.approx(gradient, rel=1e-3, abs=1e-9)


def test_it_values_both_answers_alike_and_what_is_beyond_its_table_at_nothing():
    value = FiniteGittins(left=30, furthest=20).value(items_with([3, 1], [1, 3], [12, 8], [25, 0]), COUNTED)
    assert value[0] == value[1] > 0
    assert value[2:].tolist() == [0, 0]


def test_a_policy_that_does_not_look_at_what_is_left_is_replayed_as_ever():
    policy = JobPolicy(
        labels=("0", "1"),
        requirement=Count(labels=12),
        allocation=LabelUncertainty(),
        worker_model=Anonymous(),
        max_votes_per_label=None,
    )
    answers = np.random.default_rng(5).integers(2, size=(3, 10, 12))
    [known] = votes_at_budgets(policy, answers, [47], np.random.default_rng(6))
    lefts = []
    votes = votes_in_the_end(lambda left: lefts.append(left) or policy, answers, 47, np.random.default_rng(6))
    assert (votes == known).all()
    assert lefts[1:] == list(range(47, 0, -1))


def test_both_indices_beat_the_knowledge_gradient_and_chance(tmp_path):
    """Chen et al. (section 7.1) find so without a horizon; with one the index is as good here, and not in the paper."""
    rng = np.random.default_rng(1)
    theta = rng.random((40, 50))
    answers = (rng.random((40, 50, 40)) < theta[..., None]).astype(np.int64)
    truth, setting = (theta >= 0.5).astype(np.int64), Setting(tmp_path, seeds=40)
    found = optkg.anonymous(answers, truth, (6,), setting) | optkg.finite_gittins(answers, truth, (6,), setting)
    right = {name: float(each.mean()) for name, each in found.items()}
    for name in (optkg.GITTINS, optkg.GITTINS_FINITE):
        assert right[name] > max(right[optkg.KG], right[optkg.UNIFORM]) + 0.02
    assert right[optkg.GITTINS_FINITE] == pytest.approx(right[optkg.GITTINS], abs=0.01)
