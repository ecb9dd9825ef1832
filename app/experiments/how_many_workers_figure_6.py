"""Figure 6 of Abraham et al. (SIGIR 2016): votes weighted by the tier of their worker."""

import numpy as np

from app.experiments.cost_error_curves import CostErrorCurve, saving
from app.experiments.experiment import FigureLine, Finding, Panel, Row, Setting
from app.experiments.gold_streams import StreamOutcome, side_by_side
from app.policy.allocation import RoundRobin
from app.policy.core.belief import ItemContext
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.requirements import Margin
from app.policy.worker_models import Tiers
from app.policy.worker_models.tiers import Tier
from app.simulation.graded_crowd import graded_crowd, tier_of_workers
from app.simulation.memory_job import MemoryJob

HITS, PER_GROUP, EPSILON = 18_000, 11, 0.2
CONSTANTS = (1.3, 1.5, 1.7, 1.9, 2.1, 2.3)
NO_WEIGHTS = "no weights"
WEIGHTS = {  # (initial, growth) of good, average and bad workers
    NO_WEIGHTS: ((1, 1), (1, 1), (1, 1)),
    "fixed weights": ((1.2, 1), (1, 1), (0.8, 1)),
    "5 % a round": ((1, 1.05), (1, 1), (1, 0.95)),
    "10 % a round": ((1, 1.1), (1, 1), (1, 0.9)),
    "20 % a round": ((1, 1.2), (1, 1), (1, 0.8)),
}


def run(weights: tuple[tuple[float, float], ...], c: float, hits: int = HITS) -> StreamOutcome:
    """Let random workers whose tier is known answer all HITs."""
    tiers = [Tier(initial=initial, growth=growth) for initial, growth in weights]
    model = Tiers(tiers=dict(zip(("good", "average", "bad"), tiers, strict=True)))
    policy = JobPolicy(
        labels=("no", "yes"),
        requirement=Margin(c=c, epsilon=EPSILON),
        allocation=RoundRobin(),
        worker_model=model,
        max_votes_per_label=None,
    )
    rng = np.random.default_rng(1)
    crowd = graded_crowd(hits, PER_GROUP, rng)
    skill = np.array(weights)[tier_of_workers(PER_GROUP)]
    return side_by_side(MemoryJob(Engine(policy), ItemContext.plain(hits), crowd.workers, skill=skill), crowd, rng)


def figure_6(setting: Setting) -> Finding:
    """The varying-C curves of five ways to weigh."""
    hits = setting.size(HITS // 2, 1_800)
    constants = CONSTANTS[1::2] if setting.quick else CONSTANTS
    outcomes = {}
    for name, weights in WEIGHTS.items():
        setting.report(f"{name}: {len(constants)} values of C on {hits:,} HITs")
        outcomes[name] = [run(weights, c, hits) for c in constants]
    curves = {name: CostErrorCurve.of(each) for name, each in outcomes.items()}
    saved = {name: float(saving(curve, curves[NO_WEIGHTS]).mean()) for name, curve in curves.items()}
    growing = [each for name, each in saved.items() if name.endswith("round")]
    apart, ahead = max(growing) - min(growing), min(growing) - saved["fixed weights"]
    rows = (
        *(
            Row(f"{name}: cheaper at equal error", "yes", f"{saved[name]:.1%}", saved[name] > 0)
            for name in WEIGHTS
            if name != NO_WEIGHTS
        ),
        Row("5 % to 20 % a round: difference", "very small", f"{apart:.1%}", apart < 0.05),
        Row("the worst of those minus fixed weights", "better", f"{ahead:+.1%}", ahead > 0),
    )
    lines = tuple(
        FigureLine.through(name, [each.cost for each in line], [each.error for each in line])
        for name, line in outcomes.items()
    )
    notes = (
        f"{hits:,} HITs (the paper: 100,000), epsilon {EPSILON}; the first column of Table 1 is not published: ours.",
        "Figure 6 is a drawing; the text says which curve lies below which.",
    )
    return Finding(rows, (Panel("Weighted votes", "labels per HIT", "error", lines),), notes)
