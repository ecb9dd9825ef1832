"""Measure how often the 90 % intervals of a forecast, made at a tenth of a replayed job, cover how the job ended."""

import argparse
import os
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from app.policy.core.belief import NOBODY
from app.policy.job_policy import JobPolicy
from app.simulation.job_forecast import THOROUGH, JobTotals, Range, forecast_job, sizes
from app.simulation.monte_carlo import JobSnapshot
from app.simulation.recorded_crowd import RecordedAnswers, read_crowd
from app.simulation.sequential_replay import ask_until_done, recorded_job
from app.simulation.simulated_job import SimulatedJob

PUBLIC_SETS = Path(os.environ.get("SUFFICE_PUBLIC_SETS") or Path(__file__).resolve().parents[2] / "shared" / "data")
SETS = ("rte", "temp", "d_possent")
PLAIN = {
    "requirement": {"kind": "ratio", "min_ratio": 4},
    "worker_model": {"kind": "anonymous"},
    "aggregation": {"kind": "majority"},
}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    # Excluded workers leave items of a replay without anyone to ask. In a real job, other workers would come.
    "everybody served": {"worker_choice": {"kind": "pull", "min_information_share": 0}},
    "plain votes": PLAIN,
    "plain votes by requallo": {**PLAIN, "allocation": {"kind": "requallo"}},
}


class Case(NamedTuple):
    """One replay: what was predicted, and how it ended."""

    resolved: tuple[Range, int]
    cost: tuple[Range, int]
    accuracy: tuple[Range, float]
    seconds: float


def replay(
    crowd: RecordedAnswers, configuration: dict[str, Any], seed: int, share: float, work: int = THOROUGH
) -> Case:
    """Replay a job, and forecast its end when it has had this share of all recorded answers.

    No item can get more answers than are recorded, so the policy has that limit too.
    """
    most = int(np.bincount(crowd.item).max())
    policy = JobPolicy.model_validate({"labels": crowd.labels, "max_labels": most, "seed": seed, **configuration})
    replayed, at = recorded_job(crowd, policy, seed), int(share * len(crowd.item))
    job, items = replayed.job, len(crowd.items)
    forecast, seconds = None, 0.0
    for answers in ask_until_done(replayed, crowd, seed, "pull", "random"):
        if answers == at:
            started = perf_counter()
            resolved = int((job.label != NOBODY).sum())
            totals = JobTotals(items, resolved, int((~job.open).sum()) - resolved, answers, job.spent)
            runs, _ = sizes(items, work)
            forecast = forecast_job(job.engine, job.context, snapshot(replayed), totals, runs=runs, seed=seed)
            seconds = perf_counter() - started
    if forecast is None or forecast.end.accuracy is None:
        raise ValueError(f"the job ended before it had {at} answers: choose a smaller share")
    return Case(
        resolved=(forecast.end.resolved, int((job.label != NOBODY).sum())),
        cost=(forecast.end.cost, job.answers),
        accuracy=(forecast.end.accuracy, replayed.accuracy()),
        seconds=seconds,
    )


def snapshot(simulated: SimulatedJob) -> JobSnapshot:
    """The job at this moment, with the workers who have answered so far."""
    job, ballots = simulated.job, simulated.ballots()
    came, worker = np.unique(ballots.worker, return_inverse=True)
    return JobSnapshot(
        answers=replace(ballots, worker=worker, workers=len(came)),
        state=job.state(np.arange(ballots.items)),
        label=job.label.copy(),
        closed=~job.open,
        skill=job.skill[came],
        prior=np.tile(job.engine.newcomer(), (len(came), 1)),
        price=job.price[came],
        excluded=simulated.excluded[came],
        given=job.answers,
        refit_at=job.next_refit,
    )


def covers(case: tuple[Range, float]) -> bool:
    """Whether the interval contains the outcome."""
    predicted, outcome = case
    return predicted.low <= outcome <= predicted.high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="temp", help="names separated by commas, or all (default: temp)")
    parser.add_argument("--configurations", default="all", help=", ".join(CONFIGURATIONS))
    parser.add_argument("--share", type=float, default=0.1, help="of all recorded answers at which to forecast")
    parser.add_argument("--seeds", type=int, default=10)
    asked = parser.parse_args()
    names = SETS if asked.sets == "all" else tuple(asked.sets.split(","))
    configurations = CONFIGURATIONS if asked.configurations == "all" else asked.configurations.split(",")
    for name in names:
        crowd = read_crowd(PUBLIC_SETS / name)
        for configuration in configurations:
            cases = [replay(crowd, CONFIGURATIONS[configuration], seed, asked.share) for seed in range(asked.seeds)]
            report(f"{name}, {configuration}, at {asked.share:.0%}", cases, len(crowd.items))


def report(title: str, cases: list[Case], items: int) -> None:
    print(f"{title}: {np.mean([case.seconds for case in cases]):.1f} s per forecast")
    for what, unit in (("resolved", items), ("cost", items), ("accuracy", 1)):
        each = [getattr(case, what) for case in cases]
        predicted, outcome, width = (
            np.mean([values(one) for one in each]) / unit
            for values in (lambda one: one[0].expected, lambda one: one[1], lambda one: one[0].high - one[0].low)
        )
        per = "" if unit == 1 else " per item"
        print(
            f"  {what}{per}: covered {sum(map(covers, each))} of {len(each)}; "
            f"predicted {predicted:.3f}, outcome {outcome:.3f}, mean width {width:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
