"""Figure 8 of Abraham et al. (SIGIR 2016): ask the workers with the best record."""

import numpy as np

from app.experiments.cost_error_curves import CostErrorCurve, saving
from app.experiments.experiment import FigureLine, Finding, Panel, Row, Setting
from app.experiments.gold_streams import StreamOutcome, at_random, by_index, stream
from app.policy.core.belief import ItemContext
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.requirements import Margin
from app.policy.worker_models import Anonymous
from app.simulation.crowds import Crowd, polynomial_rates, skilled, truths
from app.simulation.memory_job import MemoryJob

WORKERS, HITS = 1_000, 5_000
EPSILONS = (0.0, 0.05, 0.1)
CONSTANTS = (1.25, 1.5, 1.75, 2.0)  # a rule that stops at the first vote shows nothing about its worker
CLAIM = 0.35


def crowd_of(workers: int, hits: int, degree: int = 1) -> Crowd:
    """Workers whose success rates have a density that grows with this power from 0 at one half."""
    rng = np.random.default_rng(1)
    return Crowd(truths(hits, 2, rng), skilled(polynomial_rates(workers, degree, rng), 2))


def run(crowd: Crowd, c: float, epsilon: float, *, ucb: bool) -> StreamOutcome:
    """One stream of HITs."""
    policy = JobPolicy(
        labels=("no", "yes"),
        requirement=Margin(c=c, epsilon=epsilon),
        worker_model=Anonymous(),
        max_votes_per_label=None,
    )
    rng = np.random.default_rng(2)
    job = MemoryJob(Engine(policy), ItemContext.plain(crowd.items), crowd.workers)
    return stream(job, crowd, by_index(job) if ucb else at_random(job, rng), rng)


def figure_8(setting: Setting) -> Finding:
    """Cost against error, by index and at random, for three values of epsilon."""
    workers, hits = setting.size(WORKERS, 300), setting.size(HITS, 1_500)
    crowd = crowd_of(workers, hits)
    rows, lines = [], []
    for epsilon in EPSILONS[1:2] if setting.quick else EPSILONS:
        setting.report(f"epsilon {epsilon:g}: {len(CONSTANTS)} values of C on {hits:,} HITs, both ways")
        found = {ucb: [run(crowd, c, epsilon, ucb=ucb) for c in CONSTANTS] for ucb in (False, True)}
        saved = saving(CostErrorCurve.of(found[True]), CostErrorCurve.of(found[False]))
        mean = float(saved.mean())
        rows += [
            Row(f"epsilon {epsilon:g}: cheaper at equal error, mean", "35 % to 50 %", f"{mean:.0%}", mean >= CLAIM),
            Row(f"epsilon {epsilon:g}: from, to", "35 % to 50 %", f"{saved.min():.0%} to {saved.max():.0%}"),
        ]
        lines += [
            FigureLine.through(
                f"{how}, epsilon {epsilon:g}", [each.cost for each in line], [each.error for each in line]
            )
            for how, line in (("random", found[False]), ("index", found[True]))
        ]
    notes = (
        f"{workers:,} workers, {hits:,} HITs. The paper draws its quality distribution (Figure 7) without numbers:",
        "here the density of success rates rises in a straight line from 0 at .5 to its highest at 1.",
    )
    return Finding(tuple(rows), (Panel("Whom to ask", "labels per HIT", "error", tuple(lines), log_y=True),), notes)
