"""Compare what a default job claims with what is right, on public sets, with gold and without.

A job that asks for a probability runs until nothing is left to ask. Of the resolved items that are not gold it prints
the share that is right, the accuracy that the job claims, how many items are resolved, and the labels per item.
Without gold the claim is what other crowds make of that confidence. With `--priors`, every set is judged by what was
fitted on the other sets; without, by what was fitted on all of them. Means of seeds. Of a large set, a random part of
the items is used.
"""

import argparse
import json
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from app.policy.core.arrays import Array, Mask
from app.policy.core.belief import IntArray
from app.policy.job_policy import JobPolicy
from app.policy.quality import fitting
from app.policy.quality.calibration import OTHER_CROWDS, Calibration, CalibrationPrior, calibrate, expected_accuracy
from app.simulation.crowds import Crowd, skilled, truths
from app.simulation.memory_job import MemoryJob
from app.simulation.recorded_crowd import UNKNOWN, RecordedAnswers, read_crowd
from app.simulation.sequential_replay import ask_until_done, drawn_gold, recorded_job
from app.simulation.simulated_job import SimulatedJob, visits

SETS = Path(__file__).resolve().parents[2] / "shared" / "data"
NAMES = (
    *("rte", "temp", "d_possent", "bluebirds", "adult2", "weather_amt", "sentpop"),
    *("d_product", "web", "trec2011", "music", "nyu_qa", "medrel", "dbpedia_kg"),
)
ASKED = (0.9, 0.95)
MIN_ANSWERS = 3  # of an item
TOLERATED = 0.02  # below what was asked


class TrustFigures(NamedTuple):
    right: float
    claimed: float
    resolved: float
    labels: float


def crowd_of(folder: Path, most: int) -> RecordedAnswers:
    """The items of known truth with enough answers, at most this many."""
    crowd = read_crowd(folder)
    answers = np.bincount(crowd.item, minlength=len(crowd.items))
    suits = np.flatnonzero((crowd.truth != UNKNOWN) & (answers >= MIN_ANSWERS))
    some = np.random.default_rng(0).permutation(suits)[:most]
    return crowd.only(np.isin(np.arange(len(crowd.items)), some)).shuffled(np.random.default_rng(1))


def finished_job(crowd: RecordedAnswers, asked: float, known: IntArray | None, run: int) -> MemoryJob:
    """A default job that asks for this probability, run until nothing is left to ask; `known` is the truth of gold."""
    requirement = {"kind": "posterior", "min_probability": asked}
    policy = JobPolicy.model_validate({"labels": crowd.labels, "requirement": requirement, "seed": run})
    simulated = recorded_job(crowd, policy, run, gold=known)
    for _ in ask_until_done(simulated, crowd, run, "pull", "random"):
        pass
    return simulated.job


def run_once(crowd: RecordedAnswers, asked: float, gold: int, run: int, prior: CalibrationPrior) -> TrustFigures:
    known = drawn_gold(crowd, min(gold, len(crowd.items) // 2), run)
    job = finished_job(crowd, asked, known, run)
    others = np.ones(len(crowd.items), dtype=bool) if known is None else known == UNKNOWN
    resolved = others & (job.label != UNKNOWN)
    belief = job.engine.lookahead(job.rows.all(), job.context).now
    confidence, dissent = belief.certainty[resolved], belief.dissent[resolved]
    right = (job.label == crowd.truth)[resolved]
    if not len(right):
        return TrustFigures(np.nan, np.nan, 0.0, job.answers / len(crowd.items))
    calibration = job.engine.calibration
    # As the service shows it: by the job's own calibration, or by means and what is expected of crowds.
    claimed = expected_of(prior, confidence, dissent) if calibration is None else calibration.of(confidence, dissent)
    return TrustFigures(right.mean(), claimed.mean(), resolved.sum() / others.sum(), job.answers / len(crowd.items))


def _calibrate_by(prior: CalibrationPrior, confidence: Array, dissent: Array, right: Mask, *_: object) -> Calibration:
    return calibrate(confidence, dissent, right, prior)


def expected_of(prior: CalibrationPrior, confidence: np.ndarray, dissent: np.ndarray) -> np.ndarray:
    """What is expected of labels with this mean confidence and dissent, as `Job.claimed` computes it."""
    return expected_accuracy(np.array([confidence.mean()]), np.expm1([np.log1p(dissent).mean()]), prior)


def plain_crowd(asked: float, seeds: int) -> None:
    """A crowd without any surprise: the default beside the exact posterior, which is told how good each worker is."""
    found: dict[str, list[TrustFigures]] = {"default": [], "told all skills": []}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        rates = rng.beta(8, 2, 40)
        crowd = Crowd(truths(300, 2, rng), skilled(rates, 2))
        told = np.stack([rates, np.full(40, 1e6)], axis=1)
        requirement = {"kind": "posterior", "min_probability": asked}
        policy = JobPolicy.model_validate({"labels": ("a", "b"), "requirement": requirement, "seed": seed})
        for name, stated in (("default", None), ("told all skills", told)):
            simulated = SimulatedJob(policy, crowd, np.random.default_rng(seed), stated=stated)
            for _ in visits(simulated, rng):
                pass
            job = simulated.job
            resolved = job.label != UNKNOWN
            certainty = job.engine.lookahead(job.rows.all(), job.context).now.certainty
            right = (job.label == crowd.truth)[resolved].mean()
            found[name].append(TrustFigures(right, certainty[resolved].mean(), resolved.mean(), job.answers / 300))
    for name, runs in found.items():
        right, claimed, resolved, labels = np.mean(np.array(runs), axis=0)
        said = f"right {right:.3f}  confidence {claimed:.3f}  resolved {resolved:.2f}  labels per item {labels:.2f}"
        print(f"plain crowd, asked {asked}, {name:16} {said}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NAMES)}; all unless named")
    parser.add_argument("--sets", type=Path, default=SETS, help="the folder of the public sets")
    parser.add_argument("--asked", type=float, nargs="*", default=ASKED)
    parser.add_argument("--gold", type=int, default=50, help="items of known truth; 0 for a job without truth")
    parser.add_argument("--items", type=int, default=300, help="of a set, at most")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--priors", type=Path, help="of each set by the others, from calibration_prior.py --leave-out")
    parser.add_argument("--plain", action="store_true", help="a simulated crowd without surprises instead of the sets")
    chosen = parser.parse_args()
    if chosen.plain:
        for asked in chosen.asked:
            plain_crowd(asked, chosen.seeds)
        return
    priors = json.loads(chosen.priors.read_text()) if chosen.priors else {}
    for asked in chosen.asked:
        kept, gaps = [], []
        print(f"asked {asked}, {chosen.gold} gold items, {chosen.seeds} seeds")
        for name in chosen.names or NAMES:
            if not (chosen.sets / name).exists():
                print(f"the public set {name} is not at {chosen.sets}: nothing to measure")
                continue
            crowd = crowd_of(chosen.sets / name, chosen.items)
            prior = CalibrationPrior(**priors[name]) if priors else OTHER_CROWDS
            fitting.calibrate = partial(_calibrate_by, prior.widened())  # what this set shall be calibrated by
            runs = [run_once(crowd, asked, chosen.gold, run, prior) for run in range(chosen.seeds)]
            found = TrustFigures(*np.nanmean(np.array(runs), axis=0))
            kept.append(found.right >= asked - TOLERATED)
            gaps.append(abs(found.claimed - found.right))
            print(
                f"{name:12} right {found.right:.3f}  claimed {found.claimed:.3f}  resolved {found.resolved:.2f}"
                f"  labels per item {found.labels:.2f}",
                flush=True,
            )
        if kept:
            gap = f"|claimed - right| {np.mean(gaps):.3f} on average, {np.max(gaps):.3f} at most"
            print(f"{sum(kept)} of {len(kept)} sets are right with at least {asked - TOLERATED:.2f}; {gap}\n")


if __name__ == "__main__":
    main()
