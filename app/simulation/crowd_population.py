"""The population of crowds that forecasts draw from: how crowds of public sets differ from each other."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from app.policy.core.belief import Array


class CrowdTraits(NamedTuple):
    """What distinguishes one crowd from another, each on a scale on which crowds are about normally distributed."""

    ability: float  # mean log-odds of being right on a typical item, of workers who do not guess
    log_worker_spread: float  # of the standard deviation of those log-odds
    guess_logit: float  # of the share of workers who guess, among workers of typical activity
    guess_slope: float  # added to that logit per standard deviation of log-activity: more than 0 if guessers are busy
    log_item_spread: float  # of the standard deviation of items' ease
    leaning: float  # mean of the workers' leanings to the first of two labels
    log_bias_spread: float  # of the standard deviation of those leanings
    log_activity_spread: float  # of the standard deviation of log-activity
    lure_logit: float  # of the share of wrong answers on an item that name the same wrong label
    misread_logit: float  # of the share of items whose clear answers point to a wrong label


@dataclass(frozen=True)
class CrowdPopulation:
    """Crowds whose traits are independent and normal."""

    mean: CrowdTraits
    spread: CrowdTraits

    @classmethod
    def of(cls, crowds: Array) -> "CrowdPopulation":
        """The population of which these crowds, (crowds, traits), are a sample.

        The spread is that of a further crowd: it includes the uncertainty of the mean.

        >>> CrowdPopulation.of(np.tile([[0.0], [2.0], [4.0]], 10)).spread.ability
        2.309401076758503
        """
        further = np.sqrt(1 + 1 / len(crowds))
        mean, spread = np.nanmean(crowds, axis=0), np.nanstd(crowds, axis=0, ddof=1)
        leaning = CrowdTraits._fields.index("leaning")  # which label comes first means nothing
        mean[leaning], spread[leaning] = 0.0, np.sqrt(np.nanmean(crowds[:, leaning] ** 2))
        return cls(CrowdTraits(*mean.tolist()), CrowdTraits(*(spread * further).tolist()))

    def draw(self, crowds: int, rng: np.random.Generator) -> "CrowdDraws":
        """Draw crowds at random, evenly spread over each trait (McKay et al. 1979), so that few of them say enough."""
        from scipy.stats import qmc  # noqa: PLC0415  takes half a second, at every start of the service

        mean, spread = np.array(self.mean), np.array(self.spread)
        even = qmc.LatinHypercube(len(mean), seed=rng).random(crowds)
        return CrowdDraws(*(mean + spread * special.ndtri(even)).T)


class CrowdDraws(NamedTuple):
    """The traits of several crowds, each (crowds,)."""

    ability: Array
    log_worker_spread: Array
    guess_logit: Array
    guess_slope: Array
    log_item_spread: Array
    leaning: Array
    log_bias_spread: Array
    log_activity_spread: Array
    lure_logit: Array
    misread_logit: Array

    def guessing(self, activity: Array) -> Array:
        """The probability that workers of this standardized log-activity guess; shape (crowds, workers)."""
        return np.asarray(special.expit(self.guess_logit[:, None] + self.guess_slope[:, None] * activity))


# Fitted to fifteen public sets, at most 300 items of each, by `python bench/crowd_population.py`, which prints these.
ALL_CROWDS = CrowdPopulation(
    mean=CrowdTraits(2.10, 0.05, -3.15, 0.11, 0.28, 0.0, -0.22, 0.14, -0.57, -2.67),
    spread=CrowdTraits(1.01, 0.24, 0.71, 0.83, 0.32, 0.57, 0.48, 0.44, 0.70, 0.82),
)
