"""The knowledge-gradient family, compared with exact dynamic programming and with what the paper proves."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from app.policy.allocation import (
    CvarKnowledgeGradient,
    Information,
    JobContext,
    KnowledgeGradient,
    LabelUncertainty,
    OptimisticKnowledgeGradient,
)
from app.policy.allocation.certainty_gains import certainty_gains
from app.policy.allocation.information import _uncertainty
from app.policy.allocation.knowledge_gradient import _waiting
from app.policy.allocation.random_choice import _next_ring
from app.policy.core.belief import Belief, ItemContext, State
from app.policy.core.lookahead import Lookahead
from app.policy.engine import Engine, priority_of
from app.policy.job_policy import JobPolicy
from app.policy.requirements import Count, Ratio
from app.policy.worker_models import Anonymous, OneCoin

JOB = JobContext(Ratio())
WHOLE = st.integers(0, 60)


def anonymous(votes):
    """Items with these votes of anonymous workers."""
    counted = np.atleast_2d(np.array(votes, dtype=float))
    return Lookahead.of(Anonymous(), State(counted, np.empty((len(counted), 0))), ItemContext.plain(len(counted)))


def values(allocation, votes):
    """The allocation's value of one more label."""
    return allocation.value(anonymous(votes), JOB)


# Exact dynamic programming on whole-number Betas. A state is a tuple of items (a, b).


def accuracy(state):
    """The expected number of right labels if no more answers come: the sum of h(I(a, b))."""
    return sum(special.betainc(min(a, b), max(a, b), 0.5) for a, b in state)


def outcomes(state, i):
    """The states after an answer on item i, each with its chance."""
    a, b = state[i]
    return [
        (chance, (*state[:i], after, *state[i + 1 :]))
        for chance, after in ((a / (a + b), (a + 1, b)), (b / (a + b), (a, b + 1)))
    ]


@cache
def optimal(state, budget):
    """The value of the best policy with `budget` answers left (Chen et al., Eq. 6)."""
    if not budget:
        return accuracy(state)
    return max(expected(state, i, lambda after: optimal(after, budget - 1)) for i in range(len(state)))


def expected(state, i, value):
    """The mean of `value` over the answers on item i."""
    return sum(chance * value(after) for chance, after in outcomes(state, i))


def choices(allocation, state):
    """The items with the highest value; more than one where they tie."""
    value = values(allocation, np.array(state) - 1)
    return np.flatnonzero(value >= value.max() - 1e-12)


def achieved(allocation, state, budget):
    """The value of following the allocation, with ties broken evenly at random."""
    if not budget:
        return accuracy(state)
    best = choices(allocation, state)
    return np.mean([expected(state, i, lambda after: achieved(allocation, after, budget - 1)) for i in best])


STARTS = [((1, 1), (1, 1)), ((1, 1), (2, 1)), ((2, 2), (3, 1)), ((2, 1), (3, 3)), ((4, 2), (1, 1))]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("budget", [2, 3, 4])
def test_optimistic_value_is_close_to_the_optimum(start, budget):
    """On two items opt-kg loses at most 1/96 of the up to two right labels that the best policy expects."""
    best, got = optimal(start, budget), achieved(OptimisticKnowledgeGradient(), start, budget)
    assert best - 1 / 96 - 1e-12 <= got <= best + 1e-12


@pytest.mark.parametrize("start", STARTS)
def test_one_answer_left_is_spent_optimally(start):
    """With one answer left both gradients are optimal here: tied items come first."""
    for allocation in (KnowledgeGradient(), OptimisticKnowledgeGradient()):
        assert achieved(allocation, start, 1) == pytest.approx(optimal(start, 1))


def test_a_single_item_leaves_no_choice():
    """The posterior is a martingale: with one item every policy is optimal, and more answers never hurt."""
    for budget in range(5):
        got = achieved(OptimisticKnowledgeGradient(), ((1, 1),), budget)
        assert got == pytest.approx(optimal(((1, 1),), budget))
        assert got >= accuracy(((1, 1),)) - 1e-12


def test_looking_one_step_ahead_falls_behind():
    """At (2, 2) and (3, 1) with three answers the knowledge gradient loses 1/32, and the optimistic one loses 0."""
    start = ((2, 2), (3, 1))
    assert optimal(start, 3) - achieved(KnowledgeGradient(), start, 3) == pytest.approx(1 / 32)
    assert optimal(start, 3) == pytest.approx(achieved(OptimisticKnowledgeGradient(), start, 3))


@settings(deadline=None)
@given(a=WHOLE, b=WHOLE)
def test_the_gradient_vanishes_unless_votes_are_level(a, b):
    """Exactly 0 for whole a != b, also in floats; positive for a = b (Proposition 3.1)."""
    gradient = values(KnowledgeGradient(), [a, b])[0]
    unrounded = float((anonymous([a, b]).chances * certainty_gains(anonymous([a, b]))).sum())
    assert abs(unrounded) < 1e-12 or a == b
    assert gradient == 0 if a != b else gradient > 1e-3


def asked(allocation, answers, items=3, truth=0.8, seed=3):
    """How often an engine with this allocation asks about each item, with the allocation's own rule for ties."""
    policy = JobPolicy(
        labels=("yes", "no"),
        allocation=allocation,
        requirement=Count(labels=10_000),
        worker_model=Anonymous(),
        max_votes_per_label=None,
        seed=seed,
    )
    engine, context = Engine(policy), ItemContext.plain(items, seed)
    state, rng = engine.initial(context), np.random.default_rng(seed)
    count = np.zeros(items, dtype=int)
    for _ in range(answers):
        priority = engine.judge(state, context).priority
        item = np.lexsort((engine.tie_breaks(context.number), -priority))[0]
        count[item] += 1
        label = np.full(items, int(rng.random() > truth), dtype=np.intp)
        told, _ = engine.learn(state, context, np.empty((items, 0)), label)
        votes = state.votes.copy()
        votes[item] = told.votes[item]
        state = State(votes, state.model_state)
    return count


def test_deterministic_gradient_asks_the_first_item_for_ever():
    """After one answer each, all others go to the first item while it is not tied (Proposition 3.1)."""
    count = asked(KnowledgeGradient(ties="first"), 60)
    assert count.tolist() == [58, 1, 1]


def test_random_ties_spread_the_answers():
    """With even draws, 150 answers on three items give each about 50."""
    count = asked(KnowledgeGradient(ties="random"), 150)
    assert count.sum() == 150
    assert count.min() >= 30


def test_random_ties_have_no_memory():
    """Among four tied items the one just asked is asked again one time in four."""
    again = []
    for seed in range(12):
        total, last = np.zeros(4), -1
        for _ in range(80):
            belief = Belief.of(np.stack([total, np.zeros(4)], axis=1), ItemContext.plain(4, seed))
            item = int(_waiting(belief).argmin())
            again.append(item == last)
            total[item] += 1
            last = item
    assert np.mean(again) == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize("ties", ["first", "random"])
def test_without_gain_the_cheaper_item_comes_first(ties):
    """Items without gain, at costs of 1 to 50 in both orders: an expensive one never comes before a cheaper one."""
    for cost in (np.array([50.0, 3.0, 1.0]), np.array([1.0, 3.0, 50.0])):
        for seed in range(20):
            context = ItemContext(cost, np.zeros(3), np.array([1, 2, 900_000]), seed=seed)
            state = State(np.array([[1.0, 0.0]] * 3), np.empty((3, 0)))
            rank = priority_of(KnowledgeGradient(ties=ties), Lookahead.of(Anonymous(), state, context), JOB)
            assert rank.min() > 0
            if ties == "first":
                assert np.argsort(-rank).tolist() == np.argsort(cost).tolist()


def test_first_is_first_at_equal_cost_and_below_any_gain():
    """In the order of the items, as far as there are items; a gain of .01 comes before all items without one."""
    numbers = np.array([1, 2, 3, 999_999, 1_000_000, 10_000_000, 0])
    votes = np.array([[1.0, 0.0]] * 6 + [[300.0, 300.0]])
    context = ItemContext(np.ones(7), np.zeros(7), numbers)
    lookahead = Lookahead.of(Anonymous(), State(votes, np.empty((7, 0))), context)
    rank = priority_of(KnowledgeGradient(ties="first"), lookahead, JOB)
    assert (np.diff(rank[:6]) < 0).all()
    assert rank[6] > 0.01


def test_ties_and_rounding_are_drawn_apart():
    """Who comes next says nothing about whose margin is rounded up, nor about the turns of `random`."""
    items = 20_000
    context, votes = ItemContext.plain(items, seed=3), np.zeros((items, 2))
    for answers in (0, 1):
        votes[:, 0] = answers
        belief = Belief.of(votes, context)
        turn, rounding = np.exp(-_waiting(belief)), belief.uniform_draws()
        ring = np.exp(-_next_ring(context.seed, context.number, np.full(items, answers)))
        for one, other in ((turn, rounding), (turn, ring), (ring, rounding)):
            assert abs(np.corrcoef(one, other)[0, 1]) < 4 / np.sqrt(items)


@pytest.mark.parametrize("allocation", [OptimisticKnowledgeGradient(), Information()], ids=lambda a: a.kind)
def test_consistent_allocations_ask_every_item_again_and_again(allocation):
    """Every item keeps getting answers (Theorem 3.2), even a hard one among easy ones."""
    few, many = asked(allocation, 60), asked(allocation, 240)
    assert few.min() >= 5
    assert (many > few).all()


@settings(deadline=None)
@given(a=WHOLE, b=WHOLE)
def test_two_classes_make_value_at_risk_optimistic_up_to_one_half(a, b):
    """The more favourable answer is more likely, so every alpha up to 1/2 counts it alone; 1 is the expectation."""
    hope = values(OptimisticKnowledgeGradient(), [a, b])[0]
    for alpha in (0.01, 0.3, 0.5):
        assert values(CvarKnowledgeGradient(alpha=alpha), [a, b])[0] == pytest.approx(hope, abs=1e-12)
    mean = values(KnowledgeGradient(), [a, b])[0]
    assert values(CvarKnowledgeGradient(alpha=1), [a, b])[0] == pytest.approx(mean, abs=1e-12)


@settings(deadline=None)
@given(votes=st.lists(st.integers(0, 6), min_size=3, max_size=4))
def test_value_at_risk_falls_from_hope_to_expectation(votes):
    """A larger alpha never gives a larger value: less favourable answers count too."""
    at = [values(CvarKnowledgeGradient(alpha=alpha), votes)[0] for alpha in (1e-9, 0.2, 0.5, 0.8, 1.0)]
    assert (np.diff(at) <= 1e-12).all()
    assert at[0] == pytest.approx(values(OptimisticKnowledgeGradient(), votes)[0], abs=1e-9)
    assert at[-1] == pytest.approx(values(KnowledgeGradient(), votes)[0], abs=1e-9)


@settings(deadline=None)
@given(a=WHOLE, b=WHOLE)
def test_label_uncertainty_is_the_tail_of_the_beta(a, b):
    """The value is the mass of the Beta on the other side of 1/2."""
    tail = special.betainc(max(a, b) + 1, min(a, b) + 1, 0.5)
    assert values(LabelUncertainty(), [a, b])[0] == pytest.approx(tail, abs=1e-12)


@settings(deadline=None)
@given(votes=st.lists(st.integers(0, 6), min_size=2, max_size=4), order=st.sampled_from([1.0, 2.0, 3.0, 50.0]))
def test_information_is_what_uncertainty_loses_on_average(votes, order):
    """With exact Bayes the value is H(now) minus the mean of H(after), summed answer by answer."""
    lookahead, information = anonymous(votes), Information(order=order)
    after = sum(
        lookahead.chances[:, k] * _uncertainty(lookahead.after(k).now.posterior, order) for k in range(len(votes))
    )
    lost = _uncertainty(lookahead.now.posterior, order) - after
    assert information.value(lookahead, JOB)[0] == pytest.approx(lost[0], abs=1e-11)


def simulated_accuracy(allocation, labels_per_item, runs=400, items=50):
    """Accuracy, ties one half, on items with uniform shares: the paper's simulation (section 7.1)."""
    most = 40
    table = np.stack(np.meshgrid(np.arange(most), np.arange(most), indexing="ij"), axis=-1).reshape(-1, 2)
    value = np.round(values(allocation, table), 12).reshape(most, most)
    rng = np.random.default_rng(8)
    share, votes, run = rng.random((runs, items)), np.zeros((runs, items, 2), dtype=int), np.arange(runs)
    for _ in range(labels_per_item * items):
        item = (value[votes[..., 0], votes[..., 1]] + 1e-11 * rng.random((runs, items))).argmax(axis=1)
        votes[run, item, (rng.random(runs) > share[run, item]).astype(int)] += 1
    lead = np.sign(votes[..., 0] - votes[..., 1]) * np.sign(share - 0.5)
    return (0.5 + lead / 2).mean()


def test_information_is_as_good_as_optimistic_and_better_than_shannon():
    """At two labels per item Shannon's information confirms known labels; the default order resolves ties first."""
    hope, ours, shannon = (
        simulated_accuracy(allocation, 2)
        for allocation in (OptimisticKnowledgeGradient(), Information(), Information(order=1))
    )
    assert ours >= hope - 0.005
    assert ours >= shannon + 0.03


def test_information_of_a_high_order_is_the_knowledge_gradient():
    """H_R tends to 1 - max p."""
    votes = [[0, 0], [1, 1], [3, 1]]
    assert values(Information(order=100), votes) == pytest.approx(values(KnowledgeGradient(), votes), abs=0.01)


@settings(deadline=None)
@given(
    model_state=st.tuples(*[st.floats(0.4, 30)] * 3),
    right=st.floats(0.2, 20),
    wrong=st.floats(0.2, 20),
)
def test_information_is_never_negative(model_state, right, wrong):
    """Moment matching, which is no martingale, is included; an answer of a guesser has no information."""
    state = State(np.zeros((1, 3)), np.array([model_state]))
    skill = np.array([[right, wrong]])
    value = Information().value(Lookahead.of(OneCoin(), state, ItemContext.plain(1), skill), JOB)[0]
    guessing = Lookahead.of(OneCoin(), state, ItemContext.plain(1), np.array([[right, 2 * right]]))
    assert 0 <= value <= 1.5
    assert Information().value(guessing, JOB)[0] == pytest.approx(0, abs=1e-12)


def test_a_thousand_labels_are_a_handful_of_outcomes():
    """Labels without votes are computed once, with the same result as computing each of them."""
    votes = np.zeros((1, 12))
    votes[0, [2, 5]] = 3, 1
    lookahead = anonymous(votes)
    apart = [lookahead.after(c).now.certainty[0] - lookahead.now.certainty[0] for c in range(12)]
    assert sorted(lookahead.answers.label.tolist()) == [0, 2, 5]
    assert certainty_gains(lookahead)[0] == pytest.approx(apart, abs=1e-12)
    assert anonymous(np.zeros((1, 1000))).answers.label.tolist() == [0]


def test_named_priors_keep_labels_apart():
    """Labels without votes that have different priors are computed separately."""
    prior = np.array([[0.5, 0.2, 0.2, 0.1]])
    context = ItemContext(np.ones(1), np.zeros(1), np.arange(1), prior)
    lookahead = Lookahead.of(Anonymous(), Anonymous().start(context, 4), context)
    assert sorted(lookahead.answers.label.tolist()) == [0, 1, 3]
    assert lookahead.answers.position[0, 1] == lookahead.answers.position[0, 2]
