"""Whom to ask: the index of the paper, and the best pair by value per cost."""

import numpy as np
import pytest
from pydantic import TypeAdapter

from app.policy.allocation import Circumstances, Information, KnowledgeGradient, OptimisticKnowledgeGradient
from app.policy.belief import Facts, State
from app.policy.prospect import Prospect
from app.policy.requirements import Ratio
from app.policy.worker_choice import AnyWorkerChoice, Appraisal, Available, Candidates, Pair, Pull, UpperConfidence
from app.policy.workers import OneCoin, SpamFilter

JOB = Circumstances(Ratio())


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


def grid_by_hand(model, allocation, candidates, workers):
    """Value per cost of each pair, one at a time."""
    grid = np.empty((len(candidates.state.votes), len(workers.price)))
    for i, w in np.ndindex(*grid.shape):
        state = State(candidates.state.votes[[i]], candidates.state.evidence[[i]])
        facts = Facts(candidates.facts.cost[[i]] * workers.price[w], np.zeros(1), candidates.facts.number[[i]])
        grid[i, w] = allocation.priority(Prospect.of(model, state, facts, workers.skill[[w]]), JOB)[0]
    return grid


def scene():
    """Three items, one of them dear, and four workers, one of them dear."""
    state = State(np.array([[0.0, 0.0], [2.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 1.0], [2.5, 1.7], [1.4, 0.9]]))
    facts = Facts(np.array([4.0, 1.0, 1.0]), np.zeros(3), np.arange(1, 4), None, 5)
    skill = np.array([[4.0, 1.0], [9.0, 1.0], [5.0, 5.0], [30.0, 1.0]])
    return Candidates(state, facts), Available(skill, np.array([1.0, 1.0, 0.1, 8.0]), np.arange(4))


@pytest.mark.parametrize("allocation", [OptimisticKnowledgeGradient(), Information()], ids=lambda a: a.kind)
def test_one_pass_values_every_pair(allocation):
    """The grid is what each pair gives alone, and the chosen pair is its maximum."""
    candidates, workers = scene()
    chosen = Pair().choose(Appraisal(OneCoin(), allocation, JOB), candidates, workers)
    by_hand = grid_by_hand(OneCoin(), allocation, candidates, workers)
    assert chosen.value == pytest.approx(by_hand, abs=1e-11)
    assert (chosen.item, chosen.worker) == np.unravel_index(by_hand.argmax(), by_hand.shape)
    assert chosen.worker == 1  # better than a newcomer at the same price; the best one costs eight times as much


def test_a_pair_that_is_not_allowed_is_not_chosen():
    """Who has answered an item is not asked about it again; with nothing allowed there is no pair."""
    candidates, workers = scene()
    appraisal = Appraisal(OneCoin(), OptimisticKnowledgeGradient(), JOB)
    best = Pair().choose(appraisal, candidates, workers)
    allowed = np.ones((3, 4), dtype=bool)
    allowed[best.item, best.worker] = False
    second = Pair().choose(appraisal, candidates, workers, allowed)
    assert (second.item, second.worker) != (best.item, best.worker)
    assert second.value[best.item, best.worker] == -np.inf
    assert Pair().choose(appraisal, candidates, workers, np.zeros((3, 4), dtype=bool)) is None


def test_equal_pairs_are_drawn_by_the_seed():
    """Two fresh items and two equal workers: every pair comes under some seed, and the same under the same."""
    model = OneCoin()
    workers = Available(np.array([[4.0, 1.0], [4.0, 1.0]]), np.ones(2), np.arange(2))

    def drawn(seed):
        facts = Facts.plain(2, seed)
        chosen = Pair().choose(
            Appraisal(model, OptimisticKnowledgeGradient(), JOB), Candidates(model.start(facts, 2), facts), workers
        )
        return chosen.item, chosen.worker

    assert {drawn(seed) for seed in range(40)} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert drawn(7) == drawn(7)


def test_a_spammer_is_never_part_of_a_pair():
    """Votes that do not count are worth nothing, so anybody else comes first."""
    model, facts = SpamFilter(), Facts.plain(2)
    workers = Available(np.array([[10.0, 20.0], [19.0, 20.0]]), np.array([0.01, 1.0]), np.arange(2))
    for allocation in (OptimisticKnowledgeGradient(), KnowledgeGradient(), Information()):
        chosen = Pair().choose(Appraisal(model, allocation, JOB), Candidates(model.start(facts, 2), facts), workers)
        assert chosen.worker == 1


def test_choices_are_told_apart_by_their_kind():
    """The union is the schema."""
    union = TypeAdapter(AnyWorkerChoice)
    for choice in (Pull(), UpperConfidence(), Pair()):
        assert union.validate_python({"kind": choice.kind}) == choice
