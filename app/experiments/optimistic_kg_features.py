"""Section 5 of Chen et al. (ICML 2013): jobs that learn from the features of their items, on Splice."""

import numpy as np

from app.experiments.experiment import FigureLine, Finding, Panel, Row, Setting
from app.experiments.requallo_figure_3 import read_examples
from app.policy.core.arrays import Array, IntArray
from app.policy.quality.item_features import LogisticFeatures
from app.simulation.crowds import Crowd, skilled
from app.simulation.named_policies import policy_of
from app.simulation.policy_replay import replay
from app.simulation.recorded_crowd import RecordedAnswers

BUDGETS = (1, 2, 3, 4)  # labels per item
WITHOUT, WITH = "without features", "with features"
_PEOPLE, _EACH = 30, 8  # so many people answer each item


def answered(truth: IntArray, features: Array, rng: np.random.Generator) -> RecordedAnswers:
    """Answers of people who are right with .55 to .9."""
    crowd = Crowd(truth, skilled(rng.uniform(0.55, 0.9, _PEOPLE), int(truth.max()) + 1))
    item = np.repeat(np.arange(len(truth)), _EACH)
    worker = np.concatenate([rng.choice(_PEOPLE, _EACH, replace=False) for _ in truth])
    names, labels = (tuple(f"{each:05}" for each in range(many)) for many in (len(truth), crowd.classes))
    said = crowd.answers(item, worker, rng)
    return RecordedAnswers(names, names[:_PEOPLE], labels, item, worker, said, truth, features=features)


def accuracies(crowd: RecordedAnswers, seed: int, runs: int, *, learns: bool) -> Array:
    """The accuracy of a default job at each budget in each run, by the engine of the service; (budgets, runs)."""
    policy = policy_of("information", crowd.labels, "pull", seed)
    if learns:
        policy = policy.model_copy(update={"features": LogisticFeatures()})
    return np.array([at.accuracy for at in replay(crowd, policy, BUDGETS, runs=runs)])


def section_5(setting: Setting) -> Finding:
    """The accuracy by labels per item, with the features of the items and without."""
    examples = read_examples(setting.data / "splice" / "splice")
    truth = examples.positive.astype(np.int64)[: setting.size(len(examples.positive), 200)]
    features = examples.features[: len(truth)]
    found: dict[str, list[Array]] = {WITHOUT: [], WITH: []}
    for seed in range(setting.seeds):
        crowd = answered(truth, features, np.random.default_rng(seed))
        for name, each in found.items():
            setting.report(f"{name}: crowd {seed + 1} of {setting.seeds}")
            each.append(accuracies(crowd, seed, 1, learns=name == WITH))
    score = {name: np.concatenate(each, axis=1) for name, each in found.items()}
    rows = []
    for place, budget in enumerate(BUDGETS):
        plain, learned = (float(score[name][place].mean()) for name in (WITHOUT, WITH))
        rows.append(Row(f"{WITHOUT}, {budget} labels per item", "lower", plain, plain <= learned))
        rows.append(Row(f"{WITH}, {budget} labels per item", "higher", learned, plain <= learned))
    lines = [FigureLine.through(name, BUDGETS, each.mean(axis=1), each.std(axis=1)) for name, each in score.items()]
    notes = (
        "The paper states the method and shows no figure. Here 30 simulated people are right with .55 to .9.",
        "Jobs are default jobs, replayed by the engine of the service; the paper's policy is Opt-KG.",
    )
    return Finding(tuple(rows), (Panel("Splice", "labels per item", "accuracy", tuple(lines)),), notes)
