"""Fit how the calibration of crowds differs, on public sets: the prior of a job's own calibration.

For each set a default job without known truth runs until nothing is left to ask. Its items, with the confidence of the
leading label and whether that is right, say which maps from confidence to accuracy are likely for that crowd. The prior
makes the maps of all sets most likely together. Items of one crowd err together, so a set counts as 50 items. With
`--leave-out`, the claim of every set is made by the prior of the others: mean claimed and realised accuracy of its
resolved items, which is what an unknown crowd has to expect.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from trust import ASKED, NAMES, SETS, crowd_of, expected_of, finished_job

from app.policy.quality.calibration import CalibrationPrior, log_likelihood
from app.simulation.recorded_crowd import UNKNOWN

COUNTS_AS = 50  # items, of a set
# Weakly, how far crowds differ: fifteen sets alone do not say it. Log-normal, with these middles and spread.
LEVEL_SPREAD, LOG_SLOPE_SPREAD, DOUBT = 0.8, 0.5, 0.5


class FinishedItems(NamedTuple):
    """The items of finished jobs of one set; every array is (items,)."""

    confidence: np.ndarray
    dissent: np.ndarray
    right: np.ndarray
    resolved: np.ndarray


def finished_items(name: str, folder: Path, asked: float, most: int, seeds: int) -> FinishedItems:
    """Run a job per seed, and look at its items."""
    crowd, found = crowd_of(folder / name, most), []
    for run in range(seeds):
        job = finished_job(crowd, asked, None, run)
        belief = job.engine.lookahead(job.rows.all(), job.context).now
        found.append(
            FinishedItems(belief.certainty, belief.dissent, belief.leader == crowd.truth, job.label != UNKNOWN)
        )
    return FinishedItems(*(np.concatenate(each) for each in zip(*found, strict=True)))


def fit_prior(likelihoods: Mapping[str, np.ndarray]) -> CalibrationPrior:
    """The prior under which the maps of these sets are most likely."""
    by_set = np.array(list(likelihoods.values()))

    def loss(at: np.ndarray) -> float:
        density = _prior(at).log_density()
        spreads = (at[[1, 3]] - np.log([LEVEL_SPREAD, LOG_SLOPE_SPREAD])) / DOUBT
        evidence = logsumexp(by_set + density - logsumexp(density), axis=1).sum()
        return float(spreads @ spreads / 2 - evidence)

    start = np.array([2.0, np.log(LEVEL_SPREAD), -0.7, np.log(LOG_SLOPE_SPREAD)])
    return _prior(minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-3}).x)


def _prior(at: np.ndarray) -> CalibrationPrior:
    return CalibrationPrior(float(at[0]), float(np.exp(at[1])), float(at[2]), float(np.exp(at[3])))


def likelihood_of(jobs: Mapping[float, FinishedItems]) -> np.ndarray:
    """How likely each map is by the items of one set, as if it had 50."""
    confidence, dissent, right = (np.concatenate(each) for each in list(zip(*jobs.values(), strict=True))[:3])
    return log_likelihood(confidence, dissent, right) * min(1.0, COUNTS_AS / len(confidence))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=Path, default=SETS, help="the folder of the public sets")
    parser.add_argument("--items", type=int, default=300, help="of a set, at most")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--leave-out", action="store_true")
    parser.add_argument("--save", type=Path, help="write the prior of each set by the others to this JSON file")
    chosen = parser.parse_args()
    names = [name for name in NAMES if (chosen.sets / name).exists()]
    if not names:
        print(f"there are no public sets at {chosen.sets}: nothing to fit")
        return
    jobs = {
        name: {asked: finished_items(name, chosen.sets, asked, chosen.items, chosen.seeds) for asked in ASKED}
        for name in names
    }
    likelihoods = {name: likelihood_of(found) for name, found in jobs.items()}
    print(f"all {len(names)} sets: {_rounded(fit_prior(likelihoods))}", flush=True)
    left_out: dict[str, dict[str, float]] = {}
    gaps: dict[float, list[float]] = {asked: [] for asked in ASKED}
    for name in names if chosen.leave_out else ():
        others = fit_prior({other: found for other, found in likelihoods.items() if other != name})
        left_out[name] = others._asdict()
        for asked, (confidence, dissent, right, resolved) in jobs[name].items():
            claimed = float(expected_of(others, confidence[resolved], dissent[resolved])[0])
            gaps[asked].append(abs(claimed - right[resolved].mean()))
            said = f"right {right[resolved].mean():.3f}  claimed {claimed:.3f}"
            print(f"{name:12} asked {asked}  {said}  {_rounded(others)}")
    if chosen.save:
        chosen.save.write_text(json.dumps(left_out, indent=1))
    for asked, gap in gaps.items():
        if gap:
            print(f"asked {asked}: |claimed - right| {np.mean(gap):.3f} on average, {np.max(gap):.3f} at most")


def _rounded(prior: CalibrationPrior) -> CalibrationPrior:
    return CalibrationPrior(*(round(each, 2) for each in prior))


if __name__ == "__main__":
    main()
