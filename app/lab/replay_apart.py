"""Replay a job whose finished items matter, for its spammers or its gold, one run after the other."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from app.lab.askers import Order, order_of_arrival
from app.lab.campaign import Campaign, choices
from app.lab.policies import Workers
from app.lab.recorded import Recorded, Witnesses
from app.lab.standing import Run, Standing, final_scores
from app.policy.belief import Facts
from app.policy.rules import Rules


def stands_apart(
    crowd: Recorded,
    rules: Rules,
    budgets: Sequence[int],
    *,
    runs: int,
    workers: Workers,
    order: Order,
    watch: Callable[[int], None],
) -> list[Standing]:
    """Where the runs stand after each of these numbers of answers, which rise."""
    found = []
    for run in range(runs):
        campaign = campaign_of(crowd, rules, run, budget=float(budgets[-1]))
        asks = asks_of(campaign, crowd, run, workers, order)
        found.append(list(_stops(campaign, asks, budgets, watch)))
    return [Standing.of(crowd, at_budget) for at_budget in zip(*found, strict=True)]


def campaign_of(crowd: Recorded, rules: Rules, run: int, budget: float | None = None) -> Campaign:
    """The job of one run, with the numbers for chance that `Runs` gives to that run."""
    items, workers = len(crowd.items), len(crowd.workers)
    plain = Facts.plain(items)
    facts = Facts(plain.cost, plain.in_flight, plain.number + run * items, seed=rules.seed)
    never = np.ones((workers, items), dtype=bool)
    never[crowd.worker, crowd.item] = False
    rng = np.random.default_rng(run)
    campaign = Campaign(rules, Witnesses(crowd), rng, facts=facts, budget=budget, shortlist=None)
    campaign.rule_out(never)
    campaign.job.number = crowd.numbers ^ run
    return campaign


def asks_of(campaign: Campaign, crowd: Recorded, run: int, workers: Workers, order: Order) -> Iterator[int]:
    """Ask until there is nothing left to ask for; counts the answers."""
    return choices(campaign) if workers == "choose" else by_item(campaign, crowd, run, order)


def by_item(campaign: Campaign, crowd: Recorded, run: int, order: Order) -> Iterator[int]:
    """Ask about the first item of the queue on which somebody who may be asked has an answer left; counts them."""
    ends = np.cumsum(np.bincount(crowd.item, minlength=len(crowd.items)))
    arrival = np.split(crowd.worker[order_of_arrival(crowd, run + 1, order)[run]], ends[:-1])
    job = campaign.job
    while True:
        queue = job.shortlist(np.flatnonzero(job.open), len(job.open)).tolist()
        free = ((item, campaign.may_answer(item, arrival[item])) for item in queue)
        asked = next(((item, int(who[0])) for item, who in free if len(who)), None)
        if asked is None:
            return
        campaign.ask(*asked)
        yield job.given


def _stops(
    campaign: Campaign, asks: Iterator[int], budgets: Sequence[int], watch: Callable[[int], None]
) -> Iterator[Run]:
    """The run as it stands at each budget."""
    job = campaign.job
    for budget in budgets:
        while job.given < budget and next(asks, None) is not None:
            watch(1)
        every = np.arange(len(job.open))
        scores = final_scores(
            campaign.rules.aggregation, job.state(every).votes, job.label, job.posterior, campaign.ballots
        )
        yield Run(job.given, job.label.copy(), scores)
