"""Measure what guessers cost: labels per item with 30 % guessers, against an honest crowd at equal error.

The honest are right with .65 to .95, evenly spread, and workers arrive at random, except where `pair` chooses. All
settings are the defaults except those named, and the honest crowd gets the same settings. Every answer is a cost,
those of guessers and those that were taken out again included. The honest crowd is measured at three posteriors, so
that its cost at the same error is known; costs and errors are means over the seeds before they are compared, and the
interval is that of resampled seeds. The answers needed to find a guesser do not depend on the size of the job, so the
share falls as jobs grow. Items, workers, seeds, the first seed and the settings can be named:

    python bench/spammers.py 2000 20 6 131 "on"
"""

import sys
from dataclasses import astuple, dataclass, field, replace
from typing import Any

import numpy as np

from app.experiments.cost_error_curves import CostErrorCurve, bootstrap_of_runs
from app.experiments.gold_streams import StreamOutcome
from app.policy.core.ballots import UNKNOWN
from app.policy.core.belief import NOBODY, IntArray, ItemContext
from app.policy.job_policy import JobPolicy
from app.simulation.crowds import Crowd, guessers, skilled, truths
from app.simulation.simulated_job import SimulatedJob, choices, visits

ITEMS, WORKERS, SEEDS = 660, 20, 3
SHARE = 0.3
CLAIM = 0.15
ANONYMOUS = {"worker_model": {"kind": "anonymous"}, "requirement": {"kind": "ratio", "min_ratio": 4}}
HONEST = [{"requirement": {"kind": "posterior", "min_probability": each}} for each in (0.9, 0.95, 0.98)]


@dataclass(frozen=True)
class Setting:
    """What differs from the defaults."""

    policy: dict[str, Any] = field(default_factory=dict)
    gold: int = 0  # items beside the others whose label the requester knows


SETTINGS = {
    "off": Setting(),
    "on": Setting({"spammers": {}}),
    "on, votes: discount": Setting({"spammers": {"votes": "discount"}}),
    "on, votes: keep": Setting({"spammers": {"votes": "keep"}}),
    "on, min_answers: 30": Setting({"spammers": {"min_answers": 30}}),
    "on, fresh items first": Setting({"spammers": {"finish_first": False}}),
    "on, 15 gold items": Setting({"spammers": {}}, gold=15),
    "on, pair": Setting({"spammers": {}, "worker_choice": {"kind": "pair"}}),
}


@dataclass(frozen=True)
class Found:
    outcome: StreamOutcome  # per item that is not gold
    guesses: float  # answers of guessers per item
    blocked: tuple[int, int]  # honest, guessers


def run(setting: Setting, seed: int, share: float = SHARE, items: int = ITEMS, workers: int = WORKERS) -> Found:
    """One job; the error is of the items that are not gold."""
    rng = np.random.default_rng(seed)
    honest = workers - round(share * workers)
    rates = rng.uniform(0.65, 0.95, workers)[:honest]
    crowd = Crowd(
        truths(items + setting.gold, 2, rng), np.concatenate([skilled(rates, 2), guessers(workers - honest, 2)])
    )
    policy = JobPolicy.model_validate({"labels": ("no", "yes"), "seed": seed, **setting.policy})
    gold = np.where(np.arange(crowd.items) < items, UNKNOWN, crowd.truth)
    context = replace(ItemContext.plain(crowd.items), gold=gold) if setting.gold else None
    simulated = SimulatedJob(policy, crowd, rng, context=context)
    for _ in choices(simulated) if policy.worker_choice.chooses else visits(simulated, rng):
        pass
    job = simulated.job
    label, truth = job.label[:items], crowd.truth[:items]
    error = float(np.where(label == NOBODY, 0.5, label != truth).mean())
    return Found(
        outcome=StreamOutcome(job.spent / items, error),
        guesses=sum(len(answered) for answered in job.answered[honest:]) / items,
        blocked=(int(simulated.blocked[:honest].sum()), int(simulated.blocked[honest:].sum())),
    )


def honest_runs(setting: Setting, seed: int, items: int = ITEMS, workers: int = WORKERS) -> list[StreamOutcome]:
    """Labels and error of a crowd without guessers, under the same settings, one posterior at a time."""
    same = [Setting(setting.policy | each, setting.gold) for each in HONEST]
    return [run(each, seed, 0.0, items, workers).outcome for each in same]


def extra_cost(found: list[Found], honest: list[list[StreamOutcome]]) -> tuple[float, float, float]:
    """The extra cost of guessers at equal error, as a share, and its 95 % interval."""
    guessed = np.array([astuple(each.outcome) for each in found])  # (seeds, 2)
    clean = np.array([[astuple(each) for each in run] for run in honest])  # (seeds, posteriors, 2)

    def more(chosen: IntArray) -> float:
        cost, error = guessed[chosen].mean(axis=0)
        curve = CostErrorCurve.of([StreamOutcome(*each) for each in clean[chosen].mean(axis=0)])
        return float(cost / curve.cost_at([error])[0] - 1)

    return bootstrap_of_runs(more, len(found))


def main() -> None:
    """Print a line per setting: means over the seeds, and the extra cost with its 95 % interval."""
    names = [each for each in sys.argv[1:] if each in SETTINGS] or list(SETTINGS)
    given = [int(each) for each in sys.argv[1:] if each not in SETTINGS]
    items, workers, runs, first = given + [ITEMS, WORKERS, SEEDS, 11][len(given) :]
    seeds = range(first, first + runs)
    print(f"{items} items, {workers} workers, {SHARE:.0%} of them guess, {runs} seeds; goal: +{CLAIM:.0%} at most")
    print(
        f"{'':35} {'error':>7} {'labels':>7} {'of guessers':>12} {'blocked: honest':>16} {'guessers':>9} {'extra':>12}"
    )
    for name in names:
        found = [run(SETTINGS[name], seed, items=items, workers=workers) for seed in seeds]
        honest = [honest_runs(SETTINGS[name], seed, items, workers) for seed in seeds]
        more, low, high = extra_cost(found, honest)
        show(name, found, f"{more:+.0%} ({low:+.0%} to {high:+.0%})")
    for name, share in (("anonymous, ratio 4, no guessers", 0.0), ("anonymous, ratio 4", SHARE)):
        show(name, [run(Setting(ANONYMOUS), seeds[0], share, items, workers)], "one seed")


def show(name: str, found: list[Found], extra: str = "") -> None:
    """A line of the table."""
    error, cost = (np.mean([getattr(each.outcome, what) for each in found]) for what in ("error", "cost"))
    honest, guessing = np.mean([each.blocked for each in found], axis=0)
    guesses = np.mean([each.guesses for each in found])
    counts = f"{error:7.3f} {cost:7.2f} {guesses:12.2f} {honest:16.1f} {guessing:9.1f}"
    print(f"{name:35} {counts} {extra:>12}", flush=True)


if __name__ == "__main__":
    main()
