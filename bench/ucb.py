"""Measure what asking the workers with the best record saves: cost per HIT against random workers, at equal error.

The simulation of Abraham et al. (SIGIR 2016, section 7): 1,000 workers, 5,000 binary HITs one after the other, the
unweighted margin rule. The paper shows its quality distribution only as a drawing (Figure 7, a polynomial). Here the
density of success rates rises in a straight line from 0 at .5 to its highest at 1: the mean is .83, and the spread
about that of the groups of Table 1. Another power may be given on the command line: 0 is uniform on [.5, 1].
"""

import sys

from app.experiments.cost_error_curves import CostErrorCurve, saving
from app.experiments.how_many_workers_figure_8 import CLAIM, CONSTANTS, EPSILONS, HITS, WORKERS, crowd_of, run


def main() -> None:
    """Print a line per setting, then the saving at equal error: costs are interpolated in log error."""
    degree = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    crowd = crowd_of(WORKERS, HITS, degree)
    print(f"{'epsilon':>8} {'C':>5} {'random: cost':>13} {'error':>7} {'ucb: cost':>10} {'error':>7}")
    for epsilon in EPSILONS:
        pairs = [(run(crowd, c, epsilon, ucb=False), run(crowd, c, epsilon, ucb=True)) for c in CONSTANTS]
        for c, (anyone, best) in zip(CONSTANTS, pairs, strict=True):
            print(f"{epsilon:8} {c:5} {anyone.cost:13.2f} {anyone.error:7.4f} {best.cost:10.2f} {best.error:7.4f}")
        anyones, bests = (CostErrorCurve.of(outcomes) for outcomes in zip(*pairs, strict=True))
        saved = saving(bests, anyones)
        print(
            f"epsilon {epsilon}: ucb costs {saved.mean():.0%} less at equal error, "
            f"from {saved.min():.0%} to {saved.max():.0%} (goal: at least {CLAIM:.0%})"
        )


if __name__ == "__main__":
    main()
