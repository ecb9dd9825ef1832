"""Does a forecast made at a tenth of a replayed job hold? How the 90 % intervals cover how the job really ended."""

import argparse
import os
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from app.lab.forecast import THOROUGH, Range, Totals, forecast_job, sizes
from app.lab.recorded import Recorded, read_crowd
from app.lab.replayed_job import ReplayedJob
from app.policy.rules import Rules
from app.policy.shares import NOBODY

PUBLIC_SETS = Path(os.environ.get("SUFFICE_PUBLIC_SETS") or Path(__file__).resolve().parents[2] / "shared" / "data")
SETS = ("rte", "temp", "d_possent")
PLAIN = {
    "requirement": {"kind": "ratio", "min_ratio": 4},
    "worker_model": {"kind": "anonymous"},
    "aggregation": {"kind": "majority"},
}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    # Who is turned away leaves items of a replay without anybody to ask, where in a job others would come.
    "everybody served": {"worker_choice": {"kind": "pull", "least_worth": 0}},
    "plain votes": PLAIN,
    "plain votes by requallo": {**PLAIN, "allocation": {"kind": "requallo"}},
}


class Case(NamedTuple):
    """One replay: what was foretold, and what came."""

    resolved: tuple[Range, int]
    cost: tuple[Range, int]
    accuracy: tuple[Range, float]
    seconds: float


def replay(crowd: Recorded, configuration: dict[str, Any], seed: int, share: float, work: int = THOROUGH) -> Case:
    """The forecast is made at this share of all recorded answers: the most that the job could have cost.

    No item can get more answers than are recorded, and the rules say so.
    """
    most = int(np.bincount(crowd.item).max())
    rules = Rules.model_validate({"labels": crowd.labels, "max_labels": most, "seed": seed, **configuration})
    replayed, at = ReplayedJob(crowd, rules, seed), int(share * len(crowd.item))
    forecast, seconds = None, 0.0
    for given in replayed.answers():
        if given == at:
            started = perf_counter()
            job, items = replayed.job, len(crowd.items)
            resolved = int((job.label != NOBODY).sum())
            totals = Totals(items, resolved, int((~job.open).sum()) - resolved, given, job.spent)
            runs, _ = sizes(items, work)
            forecast = forecast_job(job.engine, job.facts, replayed.standing(), totals, runs=runs, seed=seed)
            seconds = perf_counter() - started
    if forecast is None or forecast.end.accuracy is None:
        raise ValueError("the job has ended before")
    end, job = forecast.end, replayed.job
    return Case(
        resolved=(end.resolved, int((job.label != NOBODY).sum())),
        cost=(end.cost, job.given),
        accuracy=(forecast.end.accuracy, replayed.accuracy()),
        seconds=seconds,
    )


def covers(case: tuple[Range, float]) -> bool:
    """The interval holds what came."""
    foretold, came = case
    return foretold.low <= came <= foretold.high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="temp", help="comma between them, or all")
    parser.add_argument("--configurations", default="all")
    parser.add_argument("--share", type=float, default=0.1, help="of all recorded answers, when the forecast is made")
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
        foretold, came, width = (
            np.mean([values(one) for one in each]) / unit
            for values in (lambda one: one[0].expected, lambda one: one[1], lambda one: one[0].high - one[0].low)
        )
        per = "" if unit == 1 else " per item"
        print(
            f"  {what}{per}: covered {sum(map(covers, each))} of {len(each)}; "
            f"foretold {foretold:.3f}, came {came:.3f}, mean width {width:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
