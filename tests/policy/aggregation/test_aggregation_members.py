"""The arithmetic of each aggregation, compared with the loops in its paper and on crowds made for its model."""

import numpy as np

from app.policy.aggregation import Ballots, DawidSkene, Glad, Kos, Majority, OneCoinEM


def scattered(seed: int, *, items: int, workers: int, classes: int) -> Ballots:
    """Four random workers per item, who give the item's random class more often than not."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), 4)
    worker = np.concatenate([rng.permutation(workers)[:4] for _ in range(items)])
    common = rng.integers(classes, size=items)[item]
    label = np.where(rng.random(len(item)) < 0.7, common, rng.integers(classes, size=len(item)))
    return Ballots.of(item, worker, label, items=items, workers=workers, classes=classes)


def test_confusions_are_recovered():
    """A worker who always says 1, one who is right in four of five, and a better one are distinguished."""
    rng = np.random.default_rng(11)
    truth = rng.integers(2, size=2000)
    chance = np.array([[[0.0, 1.0], [0.0, 1.0]], [[0.8, 0.2], [0.2, 0.8]], [[0.95, 0.05], [0.3, 0.7]]])
    item, worker = np.divmod(np.arange(6000), 3)
    label = (rng.random(6000) < chance[worker, truth[item], 1]).astype(int)
    consensus = DawidSkene().fit(Ballots.of(item, worker, label))
    assert consensus.confusion is not None
    np.testing.assert_allclose(consensus.confusion[0], chance[0], atol=0.01)
    np.testing.assert_allclose(consensus.confusion.sum(axis=2), 1)


def test_glad_knows_that_hard_items_are_doubtful():
    """On items where all guess, GLAD is overconfident, but less so than a model without difficulty."""
    rng = np.random.default_rng(2)
    truth, hard = rng.integers(2, size=600), np.arange(600) < 300
    item, worker = np.repeat(np.arange(600), 7), np.concatenate([rng.permutation(20)[:7] for _ in range(600)])
    right = rng.random(4200) < np.where(hard[item], 0.55, 0.95)
    ballots = Ballots.of(item, worker, np.where(right, truth[item], 1 - truth[item]))
    boldness = {member.kind: member.fit(ballots).posterior[hard].max(axis=1).mean() for member in (Glad(), OneCoinEM())}
    actual = np.mean(Glad().fit(ballots).labels()[hard] == truth[hard])
    assert actual < boldness["glad"] < boldness["one-coin"]


def test_dawid_skene_is_bayes_rule_answer_by_answer():
    """For two rounds, the sparse products equal the loops over answers in the paper's equations."""
    ballots = scattered(8, items=12, workers=5, classes=3)
    answers = list(zip(ballots.item, ballots.worker, ballots.label, strict=True))
    posterior = np.zeros((12, 3))
    for i, _, answer in answers:
        posterior[i, answer] += 1 / 4
    for _ in range(2):
        counts = np.full((5, 3, 3), 0.5)  # worker, truth, answer
        for i, j, answer in answers:
            counts[j, :, answer] += posterior[i]
        chance = counts / counts.sum(axis=2, keepdims=True)
        share = (posterior.sum(axis=0) + 0.5) / (12 + 1.5)
        posterior = np.tile(share, (12, 1))
        for i, j, answer in answers:
            posterior[i] *= chance[j, :, answer]
        posterior /= posterior.sum(axis=1, keepdims=True)
    consensus = DawidSkene(smoothing=0.5, max_iterations=2, tolerance=0).fit(ballots)
    np.testing.assert_allclose(consensus.posterior, posterior, atol=1e-12)
    np.testing.assert_allclose(consensus.confusion, chance, atol=1e-12)


def test_kos_passes_the_messages_of_the_paper():
    """The array arithmetic equals the double loop over answers in the paper."""
    ballots = scattered(6, items=15, workers=8, classes=2)
    edges = list(zip(ballots.item, ballots.worker, np.where(ballots.label == 0, 1, -1), strict=True))
    reliability = dict.fromkeys([(i, j) for i, j, _ in edges], 1.0)
    for _ in range(5):
        leaning = {(i, j): sum(a * reliability[i, k] for h, k, a in edges if h == i and k != j) for i, j, _ in edges}
        heard = {(i, j): sum(a * leaning[h, j] for h, k, a in edges if k == j and h != i) for i, j, _ in edges}
        size = np.sqrt(np.mean(np.square(list(heard.values()))))
        mixed = {edge: heard[edge] / size + reliability[edge] for edge in heard}
        size = np.sqrt(np.mean(np.square(list(mixed.values()))))
        reliability = {edge: message / size for edge, message in mixed.items()}
    lean = [sum(a * reliability[i, j] for i, j, a in edges if i == item) for item in range(15)]
    weight = [sum(abs(reliability[i, j]) for i, j, a in edges if i == item) for item in range(15)]
    expected = (1 + np.array(lean) / np.array(weight)) / 2
    np.testing.assert_allclose(Kos(max_iterations=5).fit(ballots).posterior[:, 0], expected, atol=1e-9)


def test_kos_on_a_tree_is_the_majority():
    """If every worker has one answer, no message says anything about a worker, so all votes weigh the same."""
    ballots = Ballots.of(item=[0, 0, 0, 1], worker=[0, 1, 2, 3], label=[0, 0, 1, 1])
    np.testing.assert_allclose(Kos().fit(ballots).posterior, Majority().fit(ballots).posterior)
