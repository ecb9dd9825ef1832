"""Fit the population of crowds from which forecasts draw, to public sets with truth.

For each set it prints the traits of its crowd, found from all recorded answers without the truth; only how often a
clear consensus is wrong is compared with the truth. The last lines are the constants of `ALL_CROWDS`. With
`--without SET` that set is left out, as `bench/forecast_coverage.py` does for each set.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy import special, stats

from app.policy.core.ballots import Ballots
from app.policy.core.belief import Array
from app.simulation.crowd_gibbs import GibbsSampler
from app.simulation.crowd_population import CrowdPopulation, CrowdTraits
from app.simulation.recorded_crowd import RecordedAnswers
from bench.trust import NAMES, SETS, crowd_of

ALL_SETS = (*NAMES, "millionaire")
# Anything that a set might be: wide enough to leave the answers the last word.
_ANY_CROWD = CrowdPopulation(
    CrowdTraits(1.3, 0.0, -2.0, 0.0, 0.0, 0.0, -0.4, 0.3, -1.0, -3.0),
    CrowdTraits(1.2, 0.7, 1.5, 1.2, 0.7, 0.7, 0.7, 0.5, 1.0, 1.0),
)
_WORLDS, _CROWDS, _SWEEPS, _FIRST_KEPT = 6, 3_000, 80, 50
_MOST_ANSWERS = 15  # of an item
_CLEAR = 0.95  # the share of draws in which the same class is the consensus
_BUSY = 0.1  # of the workers, whose share of the answers tells the spread of activity


def crowd_traits(crowd: RecordedAnswers) -> CrowdTraits:
    """The traits of a crowd, the mean over draws; the lure of two classes is NaN."""
    ballots = _ballots(crowd)
    gibbs = GibbsSampler(ballots, _WORLDS, None, np.random.default_rng(0), _ANY_CROWD, _CROWDS)
    drawn, truths = [], []
    for sweep in range(_SWEEPS):
        gibbs.sweep()
        if sweep >= _FIRST_KEPT:
            drawn.append(np.array(gibbs.crowds)[:, gibbs.crowd].mean(axis=1))
            truths.append(gibbs.truth())
    truth = np.concatenate(truths)  # (draws, items)
    found = CrowdTraits(*np.mean(drawn, axis=0).tolist())
    return found._replace(
        log_activity_spread=_activity_spread(crowd),
        lure_logit=_lure(ballots, truth),
        misread_logit=_misread(crowd, truth),
    )


def population_without(name: str | None, traits: dict[str, CrowdTraits]) -> CrowdPopulation:
    """The population of all sets but this one."""
    return CrowdPopulation.of(np.array([each for of, each in traits.items() if of != name]))


def _ballots(crowd: RecordedAnswers) -> Ballots:
    """The first answers of each item."""
    order = np.argsort(crowd.item, kind="stable")
    turn = np.arange(len(order)) - np.searchsorted(crowd.item[order], crowd.item[order])
    kept = order[turn < _MOST_ANSWERS]
    workers, worker = np.unique(crowd.worker[kept], return_inverse=True)
    sizes = {"items": len(crowd.items), "workers": len(workers), "classes": len(crowd.labels)}
    return Ballots.of(crowd.item[kept], worker, crowd.label[kept], **sizes)


def _activity_spread(crowd: RecordedAnswers) -> float:
    """Of a log-normal distribution in which the busiest tenth gives the same share of all answers."""
    answers = np.sort(np.bincount(crowd.worker))[::-1]
    share = answers[: max(1, round(len(answers) * _BUSY))].sum() / answers.sum()
    return float(np.log(np.clip(stats.norm.ppf(share) - stats.norm.ppf(_BUSY), 0.3, 3.0)))


def _lure(ballots: Ballots, truth: Array) -> float:
    """How much more often two wrong answers on an item agree than they would by chance."""
    others = ballots.classes - 1
    if others == 1:
        return np.nan
    votes = np.repeat(ballots.votes()[None], len(truth), axis=0)
    np.put_along_axis(votes, truth[:, :, None], 0, axis=2)
    wrong = votes.sum(axis=2)
    agree = (votes * (votes - 1)).sum() / (wrong * (wrong - 1)).sum()
    return float(special.logit(np.clip(np.sqrt(max((agree - 1 / others) / (1 - 1 / others), 0.0)), 0.05, 0.95)))


def _misread(crowd: RecordedAnswers, truth: Array) -> float:
    """How often a clear consensus is wrong; one item is added to each side, so that no share is 0."""
    consensus = stats.mode(truth, axis=0)
    clear = consensus.count >= _CLEAR * len(truth)
    wrong = consensus.mode[clear] != crowd.truth[clear]
    return float(special.logit((wrong.sum() + 1) / (len(wrong) + 2)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(ALL_SETS)}; all unless named")
    parser.add_argument("--sets", type=Path, default=SETS, help="the folder of the public sets")
    parser.add_argument("--items", type=int, default=300, help="of a set, at most")
    parser.add_argument("--without", help="a set that is left out of the population")
    chosen = parser.parse_args()
    traits = {}
    print(" " * 12, " ".join(f"{name:>19}" for name in CrowdTraits._fields))
    for name in chosen.names or ALL_SETS:
        if not (chosen.sets / name).exists():
            print(f"the public set {name} is not at {chosen.sets}: nothing to fit")
            continue
        traits[name] = crowd_traits(crowd_of(chosen.sets / name, chosen.items))
        print(f"{name:12}", " ".join(f"{value:19.2f}" for value in traits[name]), flush=True)
    if len(traits) > 1:
        population = population_without(chosen.without, traits)
        for what, of in (("mean", population.mean), ("spread", population.spread)):
            print(f"{what:12}", " ".join(f"{value:19.2f}" for value in of))


if __name__ == "__main__":
    main()
