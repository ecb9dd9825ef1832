"""Measure how often the 90 % intervals of forecasts hold, on public sets that the forecasts do not know.

A default job runs on each set until nothing is left to ask. Before its start, and after a tenth and three tenths of the
answers that it will have, a forecast predicts what it will cost and how many items it will resolve. The population of
crowds is fitted to all other sets. An item can be answered only by the workers who are recorded for it: the forecast is
told how many they are, and not who they are or what they say. `--of recorded` takes the shares of all recorded answers
instead; a job that ends before has no forecast there. Of a large set, a random part of the items is used.
"""

import argparse
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from app.policy.core.belief import NOBODY
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.simulation.crowd_population import CrowdPopulation
from app.simulation.job_forecast import (
    INTERVAL_PROBABILITY,
    QUICK,
    THOROUGH,
    Forecast,
    ForecastCrowd,
    JobTotals,
    Range,
    forecast_job,
    forecast_plan,
    sizes,
)
from app.simulation.recorded_crowd import RecordedAnswers
from app.simulation.sequential_replay import ask_until_done, recorded_job
from app.simulation.simulated_job import SimulatedJob
from bench.crowd_population import ALL_SETS, crowd_traits, population_without
from bench.forecast import snapshot
from bench.trust import SETS, crowd_of

_MOST_CALLERS = 60  # of an item: no job asks more


class Prediction(NamedTuple):
    """A forecast at one moment of a run, per item, and how the run ended."""

    moment: float
    cost: Range
    resolved: Range
    cost_came: float
    resolved_came: float
    seconds: float


def predictions(
    crowd: RecordedAnswers, population: CrowdPopulation, moments: list[float], shares_of: str, run: int
) -> list[Prediction]:
    """Run the job twice: first to see how many answers it will have, then to forecast on the way."""
    policy = JobPolicy(labels=crowd.labels, seed=run)
    first = recorded_job(crowd, policy, run)
    for _ in ask_until_done(first, crowd, run, "pull", "random"):
        pass
    end = _totals(first)
    answers = len(crowd.item) if shares_of == "recorded" else end.answers
    at = {max(round(moment * answers), 1): moment for moment in moments if moment}
    callers = np.minimum(np.bincount(crowd.item, minlength=len(crowd.items)), _MOST_CALLERS)
    found = []
    if 0.0 in moments:
        started = perf_counter()
        cost, known = np.ones(len(crowd.items)), ForecastCrowd()
        planned = forecast_plan(Engine(policy), cost, population, known, work=QUICK, seed=run, reach=callers)
        found.append(_prediction(0.0, planned, end, perf_counter() - started))
    replayed = recorded_job(crowd, policy, run)
    for given in ask_until_done(replayed, crowd, run, "pull", "random"):
        if given in at:
            started, job = perf_counter(), replayed.job
            runs, _ = sizes(len(crowd.items), THOROUGH)
            forecast = forecast_job(
                job.engine,
                job.context,
                snapshot(replayed),
                _totals(replayed),
                runs=runs,
                seed=run,
                population=population,
                reach=callers,
            )
            found.append(_prediction(at[given], forecast, end, perf_counter() - started))
        if given >= max(at, default=0):
            break
    return found


def _totals(simulated: SimulatedJob) -> JobTotals:
    job = simulated.job
    resolved = int((job.label != NOBODY).sum())
    return JobTotals(len(job.open), resolved, int((~job.open).sum()) - resolved, job.answers, job.spent)


def _prediction(moment: float, forecast: Forecast, end: JobTotals, seconds: float) -> Prediction:
    cost, resolved = (
        Range(*(each / end.items for each in (of.expected, of.low, of.high)))
        for of in (forecast.end.cost, forecast.end.resolved)
    )
    return Prediction(moment, cost, resolved, end.spent / end.items, end.resolved / end.items, seconds)


def needed_stretch(predicted: Range, came: float) -> float:
    """By which factor the interval must be stretched around its expected value to hold what came."""
    side = predicted.high - predicted.expected if came > predicted.expected else predicted.expected - predicted.low
    return abs(came - predicted.expected) / max(side, 1e-3)


def report(title: str, found: list[Prediction]) -> None:
    columns = []
    for name in ("cost", "resolved"):
        pairs = [(getattr(each, name), getattr(each, f"{name}_came")) for each in found]
        held = [predicted.low <= came <= predicted.high for predicted, came in pairs]
        means = np.mean(
            [(predicted.expected, came, predicted.high - predicted.low) for predicted, came in pairs], axis=0
        )
        stretch = np.quantile([needed_stretch(predicted, came) for predicted, came in pairs], INTERVAL_PROBABILITY)
        error = np.mean([abs(predicted.expected - came) for predicted, came in pairs])
        columns.append(
            f"{name} holds {sum(held)} of {len(held)} ({np.mean(held):.2f}), predicted {means[0]:.2f}, "
            f"came {means[1]:.2f}, "
            f"off by {error:.2f}, width {means[2]:.2f} (x {stretch:.2f} for 90 %)"
        )
    print(f"{title:22} {columns[0]}; {columns[1]}; {np.mean([each.seconds for each in found]):.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(ALL_SETS)}; all unless named")
    parser.add_argument("--sets", type=Path, default=SETS, help="the folder of the public sets")
    parser.add_argument("--moments", type=float, nargs="*", default=[0.0, 0.1, 0.3], help="shares of the answers")
    parser.add_argument("--of", choices=("job", "recorded"), default="job", help="what the moments are shares of")
    parser.add_argument("--items", type=int, default=300, help="of a set, at most")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    crowds = {name: crowd_of(chosen.sets / name, chosen.items) for name in ALL_SETS if (chosen.sets / name).exists()}
    all_found: defaultdict[float, list[Prediction]] = defaultdict(list)
    with ProcessPoolExecutor(chosen.processes) as pool:
        traits = dict(zip(crowds, pool.map(crowd_traits, crowds.values()), strict=True))
        for name in chosen.names or crowds:
            work = partial(predictions, crowds[name], population_without(name, traits), chosen.moments, chosen.of)
            of_set = [each for run in pool.map(work, range(chosen.seeds)) for each in run]
            for moment in chosen.moments:
                some = [each for each in of_set if each.moment == moment]
                all_found[moment] += some
                if some:
                    report(f"{name}, {moment:.0%}", some)
    for moment, some in all_found.items():
        if some:
            report(f"all sets, {moment:.0%}", some)


if __name__ == "__main__":
    main()
