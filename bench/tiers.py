"""What it saves to weigh votes by tiers: cost per HIT against unweighted votes, at equal error.

The simulation of Abraham et al. (SIGIR 2016, section 6.2, Figure 6): HITs and workers of nine groups each (Table 1,
with our own choice of its unpublished first column, see `app.lab.graded`), three tiers, epsilon .2, random workers.
"""

import numpy as np

from app.lab.curves import Curve, saving
from app.lab.graded import graded_crowd, tier_of_workers
from app.lab.job import Job
from app.lab.streams import Outcome, side_by_side
from app.policy.allocation import RoundRobin
from app.policy.belief import Facts
from app.policy.engine import Engine
from app.policy.requirements import Margin
from app.policy.rules import Rules
from app.policy.workers import Tiers
from app.policy.workers.tiers import Tier

HITS, PER_GROUP, EPSILON = 18_000, 11, 0.2
CONSTANTS = (1.3, 1.5, 1.7, 1.9, 2.1, 2.3)
WEIGHTS = {  # (initial, growth) of good, average and bad workers
    "no weights": ((1, 1), (1, 1), (1, 1)),
    "fixed weights": ((1.2, 1), (1, 1), (0.8, 1)),
    "5 % a round": ((1, 1.05), (1, 1), (1, 0.95)),
    "10 % a round": ((1, 1.1), (1, 1), (1, 0.9)),
    "20 % a round": ((1, 1.2), (1, 1), (1, 0.8)),
}


def run(weights: tuple[tuple[float, float], ...], c: float, hits: int = HITS) -> Outcome:
    """All HITs, by random workers whose tier is known."""
    tiers = [Tier(initial=initial, growth=growth) for initial, growth in weights]
    model = Tiers(tiers=dict(zip(("good", "average", "bad"), tiers, strict=True)))
    rules = Rules(
        labels=("no", "yes"),
        requirement=Margin(c=c, epsilon=EPSILON),
        allocation=RoundRobin(),
        worker_model=model,
        max_votes_per_label=None,
    )
    rng = np.random.default_rng(1)
    crowd = graded_crowd(hits, PER_GROUP, rng)
    skill = np.array(weights)[tier_of_workers(PER_GROUP)]
    return side_by_side(Job(Engine(rules), Facts.plain(hits), crowd.workers, skill=skill), crowd, rng)


def main() -> None:
    """Print cost and error of every setting, then the saving at equal error: costs are interpolated in log error."""
    curves = {}
    print(f"{'':14} {'cost, error at C =':>20}" + "".join(f"{c:>16}" for c in CONSTANTS))
    for name, weights in WEIGHTS.items():
        outcomes = [run(weights, c) for c in CONSTANTS]
        print(f"{name:35}" + "".join(f"{each.cost:8.2f} {each.error:7.4f}" for each in outcomes))
        curves[name] = Curve.of(outcomes)
    for name, curve in curves.items():
        saved = saving(curve, curves["no weights"])
        print(f"{name:14} {saved.mean():6.1%} cheaper at equal error, {saved.min():.1%} to {saved.max():.1%}")


if __name__ == "__main__":
    main()
