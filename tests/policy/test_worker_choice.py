"""Whom to ask: the index of the paper, and the best pair by value per cost."""

from dataclasses import replace

import numpy as np
import pytest
from pydantic import TypeAdapter

from app.policy.allocation import Circumstances
from app.policy.belief import Facts, State
from app.policy.engine import Engine
from app.policy.prospect import Prospect
from app.policy.rules import Rules
from app.policy.worker_choice import AnyWorkerChoice, Pair, Pull, Team, UpperConfidence
from app.policy.workers import OneCoin
from app.policy.workers.clarity import OF_CROWDS


def record(*pairs):
    """Agreements and decided answers of each worker."""
    return np.array(pairs, dtype=float).T


def test_the_index_is_the_papers():
    """t+/t + 1/sqrt(t), 2 for a new worker."""
    assert UpperConfidence().index(*record((0, 0), (1, 1), (8, 16), (0, 4))).tolist() == [2.0, 2.0, 0.75, 0.5]


def test_the_highest_index_is_asked():
    """Three of four (1.25) before 80 of 100 (0.9): little known, so worth a try."""
    assert UpperConfidence().choose(*record((80, 100), (3, 4), (1, 4)), np.arange(3), seed=1) == 1


def test_a_new_worker_and_one_of_one_share_the_first_place():
    """Ties are drawn by the seed: both are asked under some seed, and the same under the same seed."""
    choose = UpperConfidence().choose
    drawn = [choose(*record((0, 0), (1, 1), (5, 9)), np.arange(3), seed=seed) for seed in range(40)]
    assert set(drawn) == {0, 1}
    assert 8 <= sum(drawn) <= 32
    assert drawn == [choose(*record((0, 0), (1, 1), (5, 9)), np.arange(3), seed=seed) for seed in range(40)]


def test_the_index_finds_the_good_workers():
    """Twenty workers, a quarter good: after 800 answers the good ones have given most of them."""
    rng, accuracy = np.random.default_rng(3), np.repeat([0.95, 0.6], [5, 15])
    agreed, decided = np.zeros(20), np.zeros(20)
    for _ in range(800):
        worker = UpperConfidence().choose(agreed, decided, np.arange(20), seed=2)
        decided[worker] += 1
        agreed[worker] += rng.random() < accuracy[worker]
    assert decided[:5].sum() > 0.6 * 800


def scene():
    """Three items, one of them dear, and the skills and prices of four workers, one of whom is dear."""
    state = State(np.array([[0.0, 0.0], [2.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 1.0], [2.5, 1.7], [1.4, 0.9]]))
    facts = Facts(np.array([4.0, 1.0, 1.0]), np.zeros(3), np.arange(1, 4), None, 5)
    return state, facts, np.array([[4.0, 1.0], [9.0, 1.0], [5.0, 5.0], [30.0, 1.0]]), np.array([1.0, 1.0, 0.1, 8.0])


def team_of(worth, price, agreed=0.0, decided=0.0, trust=0.8):
    """Workers with the best that is offered to each."""
    worth = np.asarray(worth, dtype=float)
    zero = np.zeros(len(worth))
    record = {"agreed": zero + agreed, "decided": zero + decided, "trust": zero + trust}
    return Team.offered(price=zero + price, number=np.arange(len(worth)), worth=worth, **record)


@pytest.mark.parametrize("allocation", ["opt-kg", "information"])
def test_one_pass_values_every_pair(allocation):
    """Every pair is worth what it gives alone at the price of both, and the worker of the best one is asked."""
    state, facts, skills, price = scene()
    rules = Rules.model_validate(
        {"labels": ["a", "b"], "worker_model": {"kind": "one-coin"}, "allocation": {"kind": allocation}}
    )
    worth = Engine(rules).worths(state, facts, skills)
    by_hand = np.empty((3, 4))
    for i, w in np.ndindex(3, 4):
        alone = State(state.votes[[i]], state.evidence[[i]])
        dearer = Facts(facts.cost[[i]] * price[w], np.zeros(1), facts.number[[i]])
        prospect = Prospect.of(OneCoin(), alone, dearer, skills[[w]])
        by_hand[i, w] = rules.allocation.priority(prospect, Circumstances(rules.bar))[0]
    assert worth / price == pytest.approx(by_hand, abs=1e-11)
    chosen = Pair().choose_from(team_of(worth.max(axis=0), price), seed=5, turn=1, items=100)
    assert chosen == by_hand.max(axis=0).argmax()
    assert chosen == 1  # better than a newcomer at the same price; the best one costs eight times as much


@pytest.mark.parametrize("choice", [Pull(), UpperConfidence(), Pair()], ids=lambda choice: choice.kind)
def test_nobody_is_asked_for_whom_there_is_no_item(choice):
    """However good the record; and where there is no item for anybody, nobody is."""
    record_of_all = {"price": 1.0, "agreed": np.array([9.0, 3.0, 0.0]), "decided": np.array([9.0, 6.0, 9.0])}
    assert choice.choose_from(team_of([-np.inf, 0.2, -np.inf], **record_of_all), seed=1, turn=1, items=100) == 1
    assert choice.choose_from(team_of([-np.inf] * 3, **record_of_all), seed=1, turn=1, items=100) is None
    assert choice.choose_from(team_of([], price=1.0), seed=1, turn=1, items=100) is None


@pytest.mark.parametrize("choice", [UpperConfidence(), Pair()], ids=lambda choice: choice.kind)
def test_equal_workers_are_drawn_by_the_seed_anew_with_every_turn(choice):
    """Each comes under some seed and in some turn, and the same under the same."""
    team = team_of([0.2, 0.1 + 0.1, 0.2], price=1.0)
    assert {choice.choose_from(team, seed, turn=1, items=100) for seed in range(40)} == {0, 1, 2}
    assert {choice.choose_from(team, seed=7, turn=turn, items=100) for turn in range(40)} == {0, 1, 2}
    assert choice.choose_from(team, seed=7, turn=3, items=100) == choice.choose_from(team, seed=7, turn=3, items=100)


@pytest.mark.parametrize("allocation", ["opt-kg", "kg", "information"])
def test_a_spammer_is_not_asked_while_others_are_there(allocation):
    """Votes that do not count are worth nothing, however cheap they are."""
    rules = Rules.model_validate(
        {"labels": ["a", "b"], "worker_model": {"kind": "spam-filter"}, "allocation": {"kind": allocation}}
    )
    engine, facts = Engine(rules), Facts.plain(2)
    worth = engine.worths(engine.initial(facts), facts, np.array([[10.0, 20.0], [19.0, 20.0]])).max(axis=0)
    assert worth[0] == pytest.approx(0, abs=1e-5)  # kg tells items of equal value apart by luck
    assert Pair().choose_from(team_of(worth, price=np.array([0.01, 1.0])), seed=1, turn=1, items=100) == 1


def told_of(accuracy):
    """What an answer tells of a fresh item of two classes, by hand: the entropy of order 2.5 that it takes away."""

    def entropy(p):
        return 2.5 / 1.5 * (1 - (p**2.5 + (1 - p) ** 2.5) ** 0.4)

    right = sum(share * (degree * accuracy + (1 - degree) / 2) for degree, share in zip(*CLARITY, strict=True))
    return entropy(0.5) - entropy(right)


CLARITY = OF_CROWDS.degrees, OF_CROWDS.shares
SKILLS = np.array([[80.0, 20.0], [10.0, 90.0], [55.0, 45.0], [50.0, 50.0]])  # a hundred answers each; two guess


def test_workers_are_worth_what_their_answers_tell_for_their_price():
    """By the formula, with .5 / sqrt(100) for the doubt, and liars as much as whoever knows as well."""
    price, answers = np.array([1.0, 1.0, 1.0, 0.25]), np.array([30, 10, 40, 20])
    accuracy = SKILLS[:, 0] / 100
    told, better, worse = (np.array([told_of(rate + doubt) for rate in accuracy]) for doubt in (0, 0.05, -0.05))
    expected = np.maximum(better, worse) / price / (answers @ told / (answers @ price))
    found = Engine(Rules(labels=("a", "b"))).worth_of_workers(SKILLS, price, answers)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert found[1] > found[0] > 1 > max(found[2:])


def crowd_with(*rows, others=10):
    """These workers, and so many others who know."""
    return np.array([*rows, *[SKILLS[0]] * others])


@pytest.mark.parametrize("rules", [{}, {"worker_model": {"kind": "one-coin"}}, {"worker_model": {"kind": "confusion"}}])
def test_who_guesses_is_turned_away(rules):
    """Not who lies, not a newcomer, nobody among few, and nobody where the job says so or counts votes alike."""
    engine = Engine(Rules.model_validate({"labels": ["a", "b"], **rules}))
    skill = crowd_with(*SKILLS)
    if rules.get("worker_model") == {"kind": "confusion"}:
        skill = np.stack([skill[:, 0], skill[:, 1], skill[:, 1], skill[:, 0]], axis=1)
    price, answers = np.ones(14), np.full(14, 20)
    assert np.flatnonzero(engine.turned_away(skill, price, answers)).tolist() == [2, 3]
    assert not engine.turned_away(skill, price, np.full(14, 19)).any()
    assert not engine.turned_away(skill[:-3], price[:-3], answers[:-3]).any()
    for choice in (Pull(least_worth=0), Pair(), UpperConfidence()):
        lenient = Engine(engine.rules.model_copy(update={"worker_choice": choice}))
        assert not lenient.turned_away(skill, price, answers).any()


def test_at_most_a_fifth_is_turned_away_those_who_tell_least():
    """A camp that agrees with itself must not silence all others; each world of several by its own crowd."""
    engine, answers = Engine(Rules(labels=("a", "b"))), np.full(30, 40)
    guessing = np.array([[20.0 + n / 10, 20.0] for n in range(15)])
    skill = np.concatenate([guessing, np.tile(SKILLS[0], (15, 1))])
    assert np.flatnonzero(engine.turned_away(skill, np.ones(30), answers)).tolist() == [0, 1, 2, 3, 4, 5]
    both = engine.turned_away(np.stack([skill, skill[::-1]]), np.ones(30), np.stack([answers, answers]))
    assert [np.flatnonzero(each).tolist() for each in both] == [[0, 1, 2, 3, 4, 5], [24, 25, 26, 27, 28, 29]]


def test_who_tells_little_for_little_money_is_welcome():
    """A model that is right with .6 at a fiftieth of the price tells more per cost than anybody else."""
    engine, skill = Engine(Rules(labels=("a", "b"))), crowd_with([60.0, 40.0])
    answers = np.full(11, 30)
    assert engine.turned_away(skill, np.ones(11), answers)[0]
    assert not engine.turned_away(skill, np.array([0.02, *np.ones(10)]), answers).any()
    counted = Engine(Rules.model_validate({"labels": ["a", "b"], "worker_model": {"kind": "anonymous"}}))
    assert not counted.turned_away(np.empty((11, 0)), np.ones(11), answers).any()


def test_choices_are_told_apart_by_their_kind():
    """The union is the schema."""
    union = TypeAdapter(AnyWorkerChoice)
    for choice in (Pull(), UpperConfidence(), Pair()):
        assert union.validate_python({"kind": choice.kind}) == choice


def test_a_trial_comes_first_until_its_items_have_their_answers():
    """A share of the items, drawn by the seed, before all others; then they are items like any other."""
    engine = Engine(Rules(labels=("a", "b"), worker_choice=Pair(trial=0.25, trial_answers=2), seed=3))
    plain = Engine(Rules(labels=("a", "b"), worker_choice=Pair(trial=0), seed=3))
    facts = Facts.plain(400, seed=3)
    fresh = engine.initial(facts)
    lifted = engine.judge(fresh, facts).priority > 1
    assert 70 < lifted.sum() < 130
    assert lifted.tolist() == (engine.tie_breaks(facts.number) < 0.25 * 2**63).tolist()
    begun = fresh
    for _ in range(2):
        begun = engine.learn(begun, facts, np.tile(engine.newcomer(), (400, 1)), np.zeros(400, dtype=np.intp))[0]
        judged, as_ever = (each.judge(begun, facts).priority for each in (engine, plain))
        assert judged[~lifted].tolist() == as_ever[~lifted].tolist()
    assert judged.tolist() == as_ever.tolist()
    assert not (plain.judge(fresh, facts).priority > 1).any()


def test_a_trial_takes_no_more_than_a_tenth_of_what_the_budget_buys():
    """Beyond the first answers; the less money, the fewer items, and those were on trial with more money, too."""
    facts, none, before = Facts.plain(2000, seed=5), np.zeros(2000), np.zeros(2000, dtype=bool)
    for budget in (200.0, 1000.0, 2000.0, 3000.0, 4000.0, None):
        rules = Rules(labels=("a", "b"), worker_choice=Pair(), seed=5)
        trial = Engine(rules, budget, inverse_costs=2000.0).on_trial(facts, none)
        assert trial is not None
        assert abs(2 * trial.sum() - 0.1 * min(budget or np.inf, 4000)) < 60
        assert (trial | ~before).all()
        before = trial


def test_a_trial_heeds_what_an_item_costs_and_what_the_job_says():
    """Where items cost twice as much, the same budget buys half; a share that was asked for stays."""
    facts, none = replace(Facts.plain(2000, seed=5), cost=np.full(2000, 2.0)), np.zeros(2000)
    here, there = (
        Engine(Rules(labels=("a", "b"), worker_choice=Pair(trial=trial), seed=5), 4000.0, inverse_costs=1000.0)
        for trial in (None, 0.3)
    )
    assert here.on_trial(facts, none).mean() == pytest.approx(0.05, abs=0.015)
    assert there.on_trial(facts, none).mean() == pytest.approx(0.3, abs=0.03)


def test_what_an_item_of_the_trial_is_worth_is_told_as_of_any_other():
    """People see the worth of an answer, not the place in the line."""
    engine, plain = (Engine(Rules(labels=("a", "b"), worker_choice=Pair(trial=trial))) for trial in (1, 0))
    facts, none = Facts.plain(3), np.zeros(3)
    here, there = (each.judge(each.initial(facts), facts).priority for each in (engine, plain))
    assert engine.worth_alone(here, facts, none).tolist() == pytest.approx(there.tolist())
    assert plain.worth_alone(there, facts, none).tolist() == there.tolist()


def test_as_many_answers_as_items_come_before_any_second_opinion():
    """Then one in five is asked of others, by the seed and the number of the answer alone."""
    turns = np.arange(1, 20_001)
    others = Pair().asks_others(3, turns, items=10_000)
    assert not others[:10_000].any()
    assert 0.19 < others[10_000:].mean() < 0.21
    assert others.tolist() == [bool(Pair().asks_others(3, turns[[k]], items=10_000)[0]) for k in range(20_000)]
    assert (others != Pair().asks_others(4, turns, items=10_000)).any()
    assert not Pair(second_opinions=0).asks_others(3, turns, items=10).any()
    assert Pair(second_opinions=1).asks_others(3, turns, items=0).all()
    assert not UpperConfidence().asks_others(3, turns, items=0).any()


def test_a_second_opinion_is_of_somebody_less_trusted_and_no_dearer():
    """Each of them in some turn; never those who charge more, have no item, or whose answers tell nothing."""
    trust = np.array([0.95, 0.9, 0.7, 0.6, 0.5, 0.4, 0.3])
    team = team_of([9.0, 8.0, 2.0, 1.0, 90.0, -np.inf, 1e-6], price=[1, 1, 1, 1, 100, 1, 1], trust=trust)
    asked = [Pair(second_opinions=1).choose_from(team, seed=2, turn=turn, items=0) for turn in range(1, 200)]
    assert set(asked) == {2, 3}
    assert {Pair(second_opinions=0).choose_from(team, seed=2, turn=turn, items=0) for turn in range(1, 200)} == {0}
    alone = team_of([0.3], price=1.0)
    assert Pair(second_opinions=1).choose_from(alone, seed=2, turn=1, items=0) == 0
    in_line = team_of([-3.0, -1.0, -np.inf], price=1.0, trust=np.array([0.2, 0.9, 0.1]))
    assert Pair(second_opinions=1).choose_from(in_line, seed=2, turn=1, items=0) == 0
