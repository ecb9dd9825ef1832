"""Measure how far gold made by the crowd confirms itself, with and without the guards of `auto_gold`.

300 items, 30 workers. A clique of 40 % gives the first 600 answers alone. On a quarter of the items all of it gives the
same wrong answer (19 times in 20), on the others it is right with .85: with .65 in all. Then honest workers arrive too;
they are right with .8 to .95, on all items alike, .875 in the mean. The requirement is a posterior of .9, and whatever
an answer resolves becomes gold; half of the assignments are gold. Fits are half as frequent as by default, which gives
the loop time.

Without the guards, which only a simulation can switch off, workers are scored on items that they decided themselves,
promoted items are not checked, and fits take it as known. The same job without gold shows what the clique does by
itself: the loop is what gold of the crowd's own making adds to that. Printed are means over the seeds as answers come
in; a job that has ended counts on as it ended. The crowd was found with seeds 1 to 5; others are measured. In the last
part the clique falls for 15 % of the items. The number of seeds and the first may be given: `gold_loop.py 50 21`.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import takewhile

import numpy as np

from app.experiments.cost_error_curves import mean_of_runs
from app.policy.core.ballots import UNKNOWN
from app.policy.core.belief import Array, ItemContext
from app.policy.job_policy import JobPolicy
from app.simulation.crowds import Crowd, skilled, truths
from app.simulation.simulated_job import ALL_GUARDS, Guards, SimulatedJob, visits

SEEDS, FIRST = 8, 11
ITEMS, WORKERS, CLIQUE, ALONE = 300, 30, 12, 600
LURED, LESS_LURED = 0.25, 0.15  # of the items
CHECKPOINTS = (600, 900, 1_200, 1_500, 1_800, 9_999)
RULES = {
    "labels": ("no", "yes"),
    "requirement": {"kind": "posterior", "min_probability": 0.9},
    "gold": {"first_share": 0.5, "last_share": 0.5},
    "auto_gold": {"min_confidence": 0.9},
    "refit": {"growth": 0.1},
}
NO_GUARDS = Guards(own_votes=False, recheck=False, doubt=False)
NO_GOLD = "none"  # of the crowd's making
ARMS: dict[str, Guards | str] = {"no gold": NO_GOLD, "guards off": NO_GUARDS, "guards on": ALL_GUARDS}


@dataclass(frozen=True)
class Look:
    """A job at one moment."""

    promoted: float  # items that the crowd has made gold
    wrong: float  # of them, those with a wrong label
    clique: float  # skill, as it is believed to be
    honest: float
    accuracy: float  # of the resolved items


def crowd_with_clique(rng: np.random.Generator, lured: float) -> Crowd:
    """The clique first; grade 1 is what it falls for."""
    grade = (rng.random(ITEMS) < lured).astype(np.int64)
    honest = rng.uniform(0.8, 0.95, WORKERS - CLIQUE)
    rates = np.concatenate([np.tile([0.85, 0.05], (CLIQUE, 1)), np.stack([honest, honest], axis=1)])
    return Crowd(truths(ITEMS, 2, rng), skilled(rates, 2), grade)


def arrivals(simulated: SimulatedJob, rng: np.random.Generator) -> Iterator[int]:
    """The clique alone, then everybody."""
    while simulated.job.answers < ALONE and simulated.serve(int(rng.integers(CLIQUE))):
        yield simulated.job.answers
    for _ in visits(simulated, rng):
        yield simulated.job.answers


def run(guards: Guards | str, seed: int, gold: int = 0, lured: float = LURED, until: int = CHECKPOINTS[-1]) -> Array:
    """What was seen at each checkpoint, shape (checkpoints, fields of `Look`); of `gold` items the truth is known."""
    rng = np.random.default_rng(seed)
    crowd = crowd_with_clique(rng, lured)
    known = np.where(np.arange(ITEMS) < gold, crowd.truth, UNKNOWN)
    context = replace(ItemContext.plain(ITEMS), gold=known) if gold else None
    policy = JobPolicy.model_validate(RULES | {"seed": seed} | ({"auto_gold": None} if guards == NO_GOLD else {}))
    simulated = SimulatedJob(
        policy, crowd, rng, context=context, guards=guards if isinstance(guards, Guards) else ALL_GUARDS
    )
    asked = takewhile(lambda given: given <= until, arrivals(simulated, rng))
    seen = [astuple(look(simulated)) for given in asked if given in CHECKPOINTS]
    last = astuple(look(simulated))
    return np.array(seen + [last] * (len(CHECKPOINTS) - len(seen)))


def look(simulated: SimulatedJob) -> Look:
    """The job at this moment."""
    job, promoted = simulated.job, simulated.promoted != UNKNOWN
    skill = job.engine.model.accuracy(job.skill)
    return Look(
        promoted=float(promoted.sum()),
        wrong=float((simulated.promoted != simulated.crowd.truth)[promoted].sum()),
        clique=float(skill[:CLIQUE].mean()),
        honest=float(skill[CLIQUE:].mean()),
        accuracy=simulated.accuracy(),
    )


def several(guards: Guards | str, seeds: Sequence[int], gold: int = 0, lured: float = LURED) -> Array:
    """Shape (seeds, checkpoints, fields)."""
    return np.array([run(guards, seed, gold, lured) for seed in seeds])


def main() -> None:
    """Print a line per checkpoint, and how far the ends are from those of the job without gold."""
    given = [int(each) for each in sys.argv[1:]]
    runs, first = given + [SEEDS, FIRST][len(given) :]
    seeds = range(first, first + runs)
    columns = ("promoted", "wrong", "clique", "honest", "accuracy")
    print(f"{'':22} {'answers':>8}" + "".join(f"{column:>10}" for column in columns))
    compare({name: show(name, several(guards, seeds)) for name, guards in ARMS.items()})
    show("on, 30 items of gold", several(ALL_GUARDS, seeds, gold=30))
    print(f"the clique falls for {LESS_LURED:.0%} of the items")
    compare({name: several(guards, seeds, lured=LESS_LURED) for name, guards in ARMS.items()})


def show(name: str, found: Array) -> Array:
    """Means over the seeds, a line per checkpoint; gives what it was given."""
    for answers, means in zip(CHECKPOINTS, found.mean(axis=0), strict=True):
        when = "end" if answers == CHECKPOINTS[-1] else answers
        print(f"{name:22} {when!s:>8}{means[0]:10.1f}{means[1]:10.1f}" + "".join(f"{mean:10.3f}" for mean in means[2:]))
    return found


def compare(found: dict[str, Array]) -> None:
    """How far the ends differ, seed by seed."""
    for field, what in ((3, "skill of the honest"), (4, "accuracy")):
        for name, other in (("guards off", "no gold"), ("guards on", "no gold"), ("guards on", "guards off")):
            more, give = mean_of_runs(found[name][:, -1, field] - found[other][:, -1, field])
            print(f"{what} at the end, {name} less {other}: {more:+.3f} ±{give:.3f} ({len(found[name])} seeds)")


if __name__ == "__main__":
    main()
