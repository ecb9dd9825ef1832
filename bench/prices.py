"""Measure what a mix of a language model, a crowd and an expert saves: money per item at equal accuracy.

One model at 0.001 is right with .85, 40 workers at 0.05 with .6 to .9, one expert at 2.00 with .97. No skill is
known in advance. All settings are the defaults, except `worker_choice: pair`, which buys the pair of item and worker
with the best value per cost, and the required posterior, which varies so that accuracies can be compared. Each source
errs independently; in the second part a fifth of the items is hard, and model and crowd hardly know those.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from app.experiments.cost_error_curves import CostErrorCurve, bootstrap_of_runs, mean_of_runs, saving
from app.experiments.gold_streams import StreamOutcome, outcome
from app.policy.core.belief import NOBODY, Array, IntArray
from app.policy.job_policy import JobPolicy
from app.policy.requirements import Posterior
from app.policy.worker_choice import Pair
from app.simulation.crowds import Crowd, skilled, truths
from app.simulation.simulated_job import SimulatedJob, choices

SEEDS, ITEMS = range(1, 11), 300
POSTERIORS = (0.85, 0.9, 0.95)
PRICES = {"model": 0.001, "crowd": 0.05, "expert": 2.0}
RATES = {"model": 0.85, "expert": 0.97}  # how often they are right
MIX = tuple(PRICES)
ON_HARD_ITEMS = 0.55  # how often model and crowd are right there


@dataclass(frozen=True)
class Bill:
    """The result of a job."""

    outcome: StreamOutcome
    answers: dict[str, int]  # by source
    given_up: IntArray  # items
    crowd: Crowd


def sources(names: Sequence[str], rng: np.random.Generator, model: float, *, hard: bool) -> tuple[Array, list[str]]:
    """The habits of all workers of these sources on easy and on hard items, and the source of each worker."""
    rates = {"model": np.array([model]), "crowd": rng.uniform(0.6, 0.9, 40), "expert": np.array([RATES["expert"]])}
    on_hard = rates | {name: np.full_like(rates[name], ON_HARD_ITEMS) for name in ("model", "crowd") if hard}
    both = [np.stack([rates[name], on_hard[name]], axis=1) for name in names]
    return skilled(np.concatenate(both), 2), [name for name in names for _ in rates[name]]


def run(
    names: Sequence[str],
    posterior: float,
    seed: int,
    *,
    items: int = ITEMS,
    hard: float = 0.0,
    model: float = RATES["model"],
    max_labels: int | None = None,
) -> Bill:
    """One job, in which these are asked until every item is resolved or given up."""
    rng = np.random.default_rng(seed)
    habits, source = sources(names, rng, model, hard=hard > 0)
    crowd = Crowd(truths(items, 2, rng), habits, (rng.random(items) < hard).astype(np.int64))
    policy = JobPolicy(
        labels=("no", "yes"),
        requirement=Posterior(min_probability=posterior),
        worker_choice=Pair(),
        max_labels=max_labels,
        seed=seed,
    )
    simulated = SimulatedJob(policy, crowd, rng, price=np.array([PRICES[name] for name in source]))
    for _ in choices(simulated):
        pass
    job = simulated.job
    answers = {name: sum(len(job.answered[w]) for w, of in enumerate(source) if of == name) for name in names}
    return Bill(outcome(job, crowd), answers, np.flatnonzero(job.label == NOBODY), crowd)


def then_expert(bill: Bill, seed: int) -> StreamOutcome:
    """What comes of it if the expert, the last of the crowd, gets the items that were given up, in a second job."""
    crowd, given_up = bill.crowd, bill.given_up
    said = crowd.answers(given_up, np.full(len(given_up), crowd.workers - 1), np.random.default_rng(seed))
    share, guessed = len(given_up) / crowd.items, len(given_up) / crowd.items / 2
    wrong = float((said != crowd.truth[given_up]).mean()) * share if len(given_up) else 0.0
    return StreamOutcome(bill.outcome.cost + share * PRICES["expert"], bill.outcome.error - guessed + wrong)


def one_label(name: str, seed: int, items: int = ITEMS) -> StreamOutcome:
    """The model or the expert alone: no worker gets an item twice, and a second expert could only agree or tie."""
    rng = np.random.default_rng(seed)
    crowd = Crowd(truths(items, 2, rng), skilled([RATES[name]], 2))
    said = crowd.answers(np.arange(items), np.zeros(items, dtype=np.int64), rng)
    return StreamOutcome(PRICES[name], float((said != crowd.truth).mean()))


def saved(
    mix: Sequence[Sequence[StreamOutcome]], alone: Sequence[Sequence[StreamOutcome]]
) -> tuple[float, float, float]:
    """By what share the mix is cheaper at equal error, and its 95 % interval; of each, a row of seeds per posterior."""
    both = [np.array([[astuple(each) for each in row] for row in rows]) for rows in (mix, alone)]

    def less(chosen: IntArray) -> float:
        curves = (
            CostErrorCurve.of([StreamOutcome(*each) for each in outcomes[:, chosen].mean(axis=1)]) for outcomes in both
        )
        return float(saving(*curves).mean())

    return bootstrap_of_runs(less, len(SEEDS))


def show(name: str, posterior: object, outcomes: Sequence[StreamOutcome], asked: str = "") -> None:
    """A line of the table: means over the seeds with their intervals."""
    right, give = mean_of_runs([1 - each.error for each in outcomes])
    cost, take = mean_of_runs([each.cost for each in outcomes])
    print(f"{name:34} {posterior!s:>9} {right:8.3f} ±{give:.3f} {cost:9.3f} ±{take:.3f}  {asked}", flush=True)


def main() -> None:
    """Print accuracy and money per item of each source and of the mix, then what the mix saves."""
    print(f"{ITEMS} items, {len(SEEDS)} seeds, 95 % intervals")
    print(f"{'who is asked':34} {'posterior':>9} {'accuracy':>15} {'cost per item':>16}  answers per item")
    found = {}
    for names in (MIX, ("crowd",)):
        for posterior in POSTERIORS:
            bills = [run(names, posterior, seed) for seed in SEEDS]
            found[names, posterior] = [bill.outcome for bill in bills]
            show(" + ".join(names), posterior, found[names, posterior], per_item(bills))
    bills = [run(MIX, 0.95, seed, model=0.5) for seed in SEEDS]
    show("the same with a model that guesses", 0.95, [bill.outcome for bill in bills], per_item(bills))
    for name in RATES:
        show(f"{name} alone, one label", "none", [one_label(name, seed) for seed in SEEDS])
    mix, alone = ([found[names, posterior] for posterior in POSTERIORS] for names in (MIX, ("crowd",)))
    less, low, high = saved(mix, alone)
    print(f"the mix costs {less:.0%} ({low:.0%} to {high:.0%}) less than the crowd alone at equal error")
    print(f"\na fifth of the items is hard: model and crowd are right with {ON_HARD_ITEMS} there, the expert with 0.97")
    for limit in (None, 6):
        bills = [run(MIX, 0.95, seed, hard=0.2, max_labels=limit) for seed in SEEDS]
        limited = "" if limit is None else f", max_labels {limit}"
        show(f"mix{limited}", 0.95, [bill.outcome for bill in bills], per_item(bills))
        show(f"mix{limited}, then expert", 0.95, [then_expert(bill, 1) for bill in bills])


def per_item(bills: Sequence[Bill]) -> str:
    """How many answers of each source an item got."""
    names = bills[0].answers
    return ", ".join(f"{name} {np.mean([b.answers[name] / b.crowd.items for b in bills]):.2f}" for name in names)


if __name__ == "__main__":
    main()
