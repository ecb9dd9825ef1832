"""How soon pairs of item and worker chosen by Opt-KG know the truth: RTE, one-coin workers with prior (4, 1).

Chen et al. (ICML 2013, section 5): only recorded pairs may be asked, the final label is the likelier class, ties and
items without an answer count one half. Runs differ in how ties are drawn. The folder of the public sets may be given.
"""

import sys
from pathlib import Path

from app.lab.recorded import read_crowd
from app.lab.replay_pairs import accuracy_of_pairs
from app.policy.allocation import OptimisticKnowledgeGradient
from app.policy.requirements import Count
from app.policy.rules import Rules
from app.policy.workers import OneCoin

SETS = Path(__file__).resolve().parents[2] / "shared" / "data"
RUNS = 20
GOALS = {3: 0.86, 4: 0.89}


def rules_for(labels: tuple[str, ...]) -> Rules:
    """No item is closed before all of its recorded answers are in."""
    return Rules(
        labels=labels,
        requirement=Count(labels=10),
        allocation=OptimisticKnowledgeGradient(),
        worker_model=OneCoin(prior=(4, 1)),
    )


def main() -> None:
    """Print a line per number of labels."""
    folder = (Path(sys.argv[1]) if len(sys.argv) > 1 else SETS) / "rte"
    if not folder.exists():
        print(f"the public set rte is not at {folder}: nothing to measure")
        return
    crowd = read_crowd(folder)
    budgets = (1, 2, 3, 4, 5)
    accuracy = accuracy_of_pairs(crowd, rules_for(crowd.labels), budgets, RUNS)
    print(f"{'labels per item':>16} {'accuracy':>9} {'sd':>6} {'least':>6} {'most':>6}   of {RUNS} runs")
    for budget, column in zip(budgets, accuracy.T, strict=True):
        goal = f"(goal: at least {GOALS[budget]})" if budget in GOALS else ""
        figures = f"{column.mean():9.4f} {column.std(ddof=1):6.4f} {column.min():6.4f} {column.max():6.4f}"
        print(f"{budget:16} {figures}   {goal}")


if __name__ == "__main__":
    main()
