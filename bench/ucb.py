"""What it saves to ask the workers with the best record: cost per HIT against random workers, at equal error.

The simulation of Abraham et al. (SIGIR 2016, section 7): 1,000 workers, 5,000 binary HITs one after the other, the
unweighted margin rule. The paper shows its quality distribution only as a drawing (Figure 7, a polynomial). Here the
density of success rates rises in a straight line from 0 at .5 to its highest at 1: the mean is .83, and the spread
about that of the groups of Table 1. Another power may be given on the command line: 0 is uniform on [.5, 1].
"""

import sys

import numpy as np

from app.lab.crowd import Crowd, polynomial_rates, skilled, truths
from app.lab.curves import Curve, saving
from app.lab.job import Job
from app.lab.streams import Outcome, at_random, by_index, stream
from app.policy.belief import Facts
from app.policy.engine import Engine
from app.policy.requirements import Margin
from app.policy.rules import Rules
from app.policy.workers import Anonymous

WORKERS, HITS = 1_000, 5_000
EPSILONS = (0.0, 0.05, 0.1)
CONSTANTS = (1.25, 1.5, 1.75, 2.0)  # from the second vote on: a rule that stops at one vote tells nothing of its worker
CLAIM = 0.35


def run(crowd: Crowd, c: float, epsilon: float, *, ucb: bool) -> Outcome:
    """One stream of HITs."""
    rules = Rules(
        labels=("no", "yes"),
        requirement=Margin(c=c, epsilon=epsilon),
        worker_model=Anonymous(),
        max_votes_per_label=None,
    )
    rng = np.random.default_rng(2)
    job = Job(Engine(rules), Facts.plain(crowd.items), crowd.workers)
    return stream(job, crowd, by_index(job) if ucb else at_random(job, rng), rng)


def main() -> None:
    """Print a line per setting, then the saving at equal error: costs are interpolated in log error."""
    degree = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    rng = np.random.default_rng(1)
    crowd = Crowd(truths(HITS, 2, rng), skilled(polynomial_rates(WORKERS, degree, rng), 2))
    print(f"{'epsilon':>8} {'C':>5} {'random: cost':>13} {'error':>7} {'ucb: cost':>10} {'error':>7}")
    for epsilon in EPSILONS:
        pairs = [(run(crowd, c, epsilon, ucb=False), run(crowd, c, epsilon, ucb=True)) for c in CONSTANTS]
        for c, (anyone, best) in zip(CONSTANTS, pairs, strict=True):
            print(f"{epsilon:8} {c:5} {anyone.cost:13.2f} {anyone.error:7.4f} {best.cost:10.2f} {best.error:7.4f}")
        anyones, bests = (Curve.of(outcomes) for outcomes in zip(*pairs, strict=True))
        saved = saving(bests, anyones)
        print(
            f"epsilon {epsilon}: ucb costs {saved.mean():.0%} less at equal error, "
            f"from {saved.min():.0%} to {saved.max():.0%} (goal: at least {CLAIM:.0%})"
        )


if __name__ == "__main__":
    main()
