"""Measure what votes weighted by tiers save: cost per HIT against unweighted votes, at equal error.

The simulation of Abraham et al. (SIGIR 2016, section 6.2, Figure 6): HITs and workers of nine groups each (Table 1,
with our own choice of its unpublished first column, see `app.simulation.graded_crowd`), three tiers, epsilon .2,
random workers.
"""

from app.experiments.cost_error_curves import CostErrorCurve, saving
from app.experiments.how_many_workers_figure_6 import CONSTANTS, WEIGHTS, run


def main() -> None:
    """Print cost and error of every setting, then the saving at equal error: costs are interpolated in log error."""
    curves = {}
    print(f"{'':14} {'cost, error at C =':>20}" + "".join(f"{c:>16}" for c in CONSTANTS))
    for name, weights in WEIGHTS.items():
        outcomes = [run(weights, c) for c in CONSTANTS]
        print(f"{name:35}" + "".join(f"{each.cost:8.2f} {each.error:7.4f}" for each in outcomes))
        curves[name] = CostErrorCurve.of(outcomes)
    for name, curve in curves.items():
        saved = saving(curve, curves["no weights"])
        print(f"{name:14} {saved.mean():6.1%} cheaper at equal error, {saved.min():.1%} to {saved.max():.1%}")


if __name__ == "__main__":
    main()
