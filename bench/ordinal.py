"""Compare jobs whose labels are in order with the same jobs without an order: `ordinal` beside `choice`.

Accuracy and mean absolute error in steps over all items at equal labels, no stops; and, with a requirement of .95, the
labels that a job buys until nothing is left to ask, the share of its items that are resolved, how many of those are
right, and their error in steps. Means of seeds, and the paired difference to `choice` with the half-width of a 95 %
interval. Of a public set a random part is used; its labels are in order as they are sorted. `even` and `near` are
simulated: workers of the same skill, who err anywhere or near the truth.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from app.experiments.cost_error_curves import mean_of_runs
from app.policy.core.belief import NOBODY
from app.policy.job_policy import JobPolicy
from app.simulation.named_policies import policy_of
from app.simulation.policy_replay import selection_for, step
from app.simulation.recorded_crowd import RecordedAnswers
from app.simulation.recorded_runs import RecordedRuns
from bench.trust import SETS, crowd_of

BUDGETS = (2, 3, 4, 5)
DECAY = {"even": 1.0, "near": 0.3}  # of the chance of an error with every step
KINDS: dict[str, dict[str, str]] = {
    "choice": {"kind": "choice"},
    "ordinal": {"kind": "ordinal"},
    "median": {"kind": "ordinal", "label": "median"},
}
COLUMNS = ("labels", "resolved", "right", "steps")


def crowd_named(name: str, folder: Path, items: int) -> RecordedAnswers:
    """Part of a public set, or eight answers on each of 300 items by 60 workers who are right with .7 on average."""
    if name not in DECAY:
        return crowd_of(folder / name, items)
    rng, labels, each, workers = np.random.default_rng(0), 5, 8, 60
    truth, right = rng.integers(0, labels, items), rng.beta(7, 3, workers)
    away = np.abs(np.arange(labels)[:, None] - np.arange(labels))
    wrong = np.where(away > 0, DECAY[name] ** away, 0.0)
    wrong /= wrong.sum(axis=1, keepdims=True)
    item = np.repeat(np.arange(items), each)
    worker = np.concatenate([rng.permutation(workers)[:each] for _ in range(items)])
    said = [rng.choice(labels, p=wrong[of]) for of in truth[item]]
    label = np.where(rng.random(len(item)) < right[worker], truth[item], said)
    names = [tuple(f"{kind}{n}" for n in range(many)) for kind, many in (("i", items), ("w", workers), ("l", labels))]
    return RecordedAnswers(*names, item=item, worker=worker, label=label, truth=truth)


def figures(runs: RecordedRuns) -> np.ndarray:
    """What each run knows now, shape (runs, 4): labels per item, share resolved, and of those right, and steps.

    Where nothing is resolved, all items count, by the label that leads.
    """
    crowd, found = runs.crowd, []
    for run in range(runs.runs):
        own = np.arange(runs.items) + run * runs.items
        now = runs.engines[runs.stage[run]].lookahead(runs.state(own), runs.context.rows(own)).now
        resolved = runs.label[own] != NOBODY
        label = np.where(resolved, runs.label[own], now.leader)
        counted = resolved if resolved.any() else np.ones_like(resolved)
        away = np.abs(label - crowd.truth)[counted]
        found.append((runs.given[run] / runs.items, resolved.mean(), (away == 0).mean(), away.mean()))
    return np.array(found)


def measure(name: str, folder: Path, items: int, seeds: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The figures at each budget without stops, (budgets, seeds, 4), and those of the job with stops, (seeds, 4)."""
    crowd = crowd_named(name, folder, items)
    plain = policy_of("information", crowd.labels, "pull")
    found = []
    for parts in (plain.model_dump(), {"labels": crowd.labels}):
        policy = JobPolicy.model_validate(parts | {"answer": KINDS[kind]})
        runs = RecordedRuns(crowd, policy, seeds)
        selection = selection_for(runs, "pull", "random")
        at = []
        for budget in BUDGETS if not found else (np.inf,):
            while runs.given.max() < budget * runs.items and step(runs, selection):
                pass
            at.append(figures(runs))
        found.append(np.array(at))
    return found[0], found[1][0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["web", "adult2"], help=f"public sets, or {', '.join(DECAY)}")
    parser.add_argument("--sets", type=Path, default=SETS, help="the folder of the public sets")
    parser.add_argument("--items", type=int, default=300, help="of a set, at most")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    with ProcessPoolExecutor(chosen.processes) as pool:
        for name in chosen.names:
            if name not in DECAY and not (chosen.sets / name).exists():
                print(f"the public set {name} is not at {chosen.sets}: nothing to measure")
                continue
            each = partial(measure, name, chosen.sets, chosen.items, chosen.seeds)
            _print(name, dict(zip(KINDS, pool.map(each, KINDS), strict=True)), chosen.seeds)


def _print(name: str, found: dict[str, tuple[np.ndarray, np.ndarray]], seeds: int) -> None:
    print(f"{name}, {seeds} seeds, at {BUDGETS} labels per item")
    for title, column in (("right", 2), ("steps", 3)):
        for kind, (equal, _) in found.items():
            own = equal[:, :, column]
            print(f"  {title} {kind:18}" + "".join(f"{mean:16.3f}" for mean in own.mean(axis=1)))
            if kind != "choice":
                print(f"  {'minus choice':24}" + _differences(own - found["choice"][0][:, :, column]))
    print(f"  {'asked .95':24}" + "".join(f"{column:>16}" for column in COLUMNS))
    for kind, (_, stopped) in found.items():
        print(f"  {kind:24}" + "".join(f"{mean:16.3f}" for mean in stopped.mean(axis=0)))
        if kind != "choice":
            print(f"  {'minus choice':24}" + _differences((stopped - found["choice"][1]).T))
    print(flush=True)


def _differences(differences: np.ndarray) -> str:
    cells = (f"{mean:+.3f} +- {half:.3f}" for mean, half in map(mean_of_runs, differences))
    return "".join(f"{cell:>16}" for cell in cells)


if __name__ == "__main__":
    main()
