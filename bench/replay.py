"""Measure how accurate each policy is on recorded crowds, and how long a replay takes.

Ties and unknown items count one half between two labels. The goals for the default policy are ours; those for opt-kg
with chosen workers are near the figures of Chen et al. (ICML 2013, section 5): 92.25 % at four labels per item of RTE.
The folder of the public sets may be given, then names of sets; `--choose` lets policies pick workers.
"""

import sys
from pathlib import Path
from time import perf_counter

from app.simulation.named_policies import NAMES, policy_of
from app.simulation.policy_replay import replay
from app.simulation.recorded_crowd import read_crowd

SETS = Path(__file__).resolve().parents[2] / "shared" / "data"
RUNS, BUDGETS = 10, (1, 2, 3, 4, 5)
GOALS = {
    ("rte", "pull"): {2: 0.865, 3: 0.900, 4: 0.915},
    ("temp", "pull"): {2: 0.895, 3: 0.928, 4: 0.936},
    ("rte", "choose"): {2: 0.885, 3: 0.915, 4: 0.922},
    ("temp", "choose"): {2: 0.930, 3: 0.940, 4: 0.940},
}


def main() -> None:
    """Print a table per set."""
    given = [each for each in sys.argv[1:] if not each.startswith("--")]
    folder, names = Path(given[0]) if given else SETS, given[1:] or ["rte", "temp"]
    for name in names:
        if not (folder / name).exists():
            print(f"the public set {name} is not at {folder}: nothing to measure")
            continue
        measure(folder / name, "choose" if "--choose" in sys.argv else "pull")


def measure(folder: Path, workers: str) -> None:
    """A line per policy, and how many seeds of one were run per second."""
    crowd, began = read_crowd(folder), perf_counter()
    goals = GOALS.get((folder.name, workers), {})
    print(f"{folder.name}, {workers}, {RUNS} seeds: accuracy (sd) at labels per item")
    print(f"{'':18}" + "".join(f"{budget:>14}" for budget in BUDGETS) + "   seeds/s")
    for name in NAMES:
        start = perf_counter()
        found = replay(crowd, policy_of(name, crowd.labels, workers), BUDGETS, runs=RUNS, workers=workers)
        cells = [f"{each.accuracy.mean():8.3f} ({each.accuracy.std(ddof=1):.3f})"[1:] for each in found]
        print(f"{name:18}" + "".join(f"{cell:>14}" for cell in cells) + f"{RUNS / (perf_counter() - start):10.2f}")
    print(f"{'goal, information':18}" + "".join(f"{goals.get(budget, ''):>14}" for budget in BUDGETS))
    print(f"{len(NAMES)} policies in {perf_counter() - began:.0f} s\n")


if __name__ == "__main__":
    main()
