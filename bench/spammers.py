"""What guessers cost: labels per item of a crowd of which 30 % guess, against the honest crowd at equal error.

The honest are right with .65 to .95, evenly spread, and whoever comes is served, but where `pair` chooses. All rules
are the defaults but for what is named, and the honest crowd gets the same rules. Every answer counts as cost, those of
guessers and those that were taken out again included. The honest crowd is measured at three posteriors, so that its
cost at the same error is known; costs and errors are means over the seeds before they are compared, and the interval is
that of resampled seeds. To find a guesser takes so many answers whatever the size of the job, so the share falls as
jobs grow. Items, workers, seeds, the first seed and the settings can be named:

    python bench/spammers.py 2000 20 6 131 "on"
"""

import sys
from dataclasses import astuple, dataclass, field, replace
from typing import Any

import numpy as np

from app.lab.campaign import Campaign, choices, visits
from app.lab.crowd import Crowd, guessers, skilled, truths
from app.lab.curves import Curve, of_resampled_runs
from app.lab.streams import Outcome
from app.policy.aggregation.ballots import UNKNOWN
from app.policy.belief import Facts, IntArray
from app.policy.rules import Rules
from app.policy.shares import NOBODY

ITEMS, WORKERS, SEEDS = 660, 20, 3
SHARE = 0.3
CLAIM = 0.15
ANONYMOUS = {"worker_model": {"kind": "anonymous"}, "requirement": {"kind": "ratio", "min_ratio": 4}}
HONEST = [{"requirement": {"kind": "posterior", "min_probability": each}} for each in (0.9, 0.95, 0.98)]


@dataclass(frozen=True)
class Setting:
    """What differs from the defaults."""

    rules: dict[str, Any] = field(default_factory=dict)
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
    outcome: Outcome  # per item that is not gold
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
    rules = Rules.model_validate({"labels": ("no", "yes"), "seed": seed, **setting.rules})
    gold = np.where(np.arange(crowd.items) < items, UNKNOWN, crowd.truth)
    facts = replace(Facts.plain(crowd.items), gold=gold) if setting.gold else None
    campaign = Campaign(rules, crowd, rng, facts=facts)
    for _ in choices(campaign) if rules.worker_choice.chooses else visits(campaign, rng):
        pass
    job = campaign.job
    label, truth = job.label[:items], crowd.truth[:items]
    error = float(np.where(label == NOBODY, 0.5, label != truth).mean())
    return Found(
        outcome=Outcome(job.spent / items, error),
        guesses=sum(len(answered) for answered in job.answered[honest:]) / items,
        blocked=(int(campaign.blocked[:honest].sum()), int(campaign.blocked[honest:].sum())),
    )


def honest_runs(setting: Setting, seed: int, items: int = ITEMS, workers: int = WORKERS) -> list[Outcome]:
    """Labels and error of a crowd in which nobody guesses, under the same rules, a posterior at a time."""
    same = [Setting(setting.rules | each, setting.gold) for each in HONEST]
    return [run(each, seed, 0.0, items, workers).outcome for each in same]


def dearer(found: list[Found], honest: list[list[Outcome]]) -> tuple[float, float, float]:
    """By what share guessers make it dearer at the same error, and its 95 % interval."""
    guessed = np.array([astuple(each.outcome) for each in found])  # (seeds, 2)
    clean = np.array([[astuple(each) for each in run] for run in honest])  # (seeds, posteriors, 2)

    def more(chosen: IntArray) -> float:
        cost, error = guessed[chosen].mean(axis=0)
        curve = Curve.of([Outcome(*each) for each in clean[chosen].mean(axis=0)])
        return float(cost / curve.cost_at([error])[0] - 1)

    return of_resampled_runs(more, len(found))


def main() -> None:
    """Print a line per setting: means over the seeds, and how much dearer it is with a 95 % interval."""
    names = [each for each in sys.argv[1:] if each in SETTINGS] or list(SETTINGS)
    given = [int(each) for each in sys.argv[1:] if each not in SETTINGS]
    items, workers, runs, first = given + [ITEMS, WORKERS, SEEDS, 11][len(given) :]
    seeds = range(first, first + runs)
    print(f"{items} items, {workers} workers, {SHARE:.0%} of them guess, {runs} seeds; goal: +{CLAIM:.0%} at most")
    print(
        f"{'':35} {'error':>7} {'labels':>7} {'of guessers':>12} {'blocked: honest':>16} {'guessers':>9} {'dearer':>12}"
    )
    for name in names:
        found = [run(SETTINGS[name], seed, items=items, workers=workers) for seed in seeds]
        honest = [honest_runs(SETTINGS[name], seed, items, workers) for seed in seeds]
        more, low, high = dearer(found, honest)
        show(name, found, f"{more:+.0%} ({low:+.0%} to {high:+.0%})")
    for name, share in (("anonymous, ratio 4, nobody guesses", 0.0), ("anonymous, ratio 4", SHARE)):
        show(name, [run(Setting(ANONYMOUS), seeds[0], share, items, workers)], "one seed")


def show(name: str, found: list[Found], dearer_by: str = "") -> None:
    """A line of the table."""
    error, cost = (np.mean([getattr(each.outcome, what) for each in found]) for what in ("error", "cost"))
    honest, guessing = np.mean([each.blocked for each in found], axis=0)
    guesses = np.mean([each.guesses for each in found])
    counts = f"{error:7.3f} {cost:7.2f} {guesses:12.2f} {honest:16.1f} {guessing:9.1f}"
    print(f"{name:35} {counts} {dearer_by:>12}", flush=True)


if __name__ == "__main__":
    main()
