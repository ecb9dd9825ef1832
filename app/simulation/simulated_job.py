"""Simulate a whole job, one request after the other: who is asked, refits, spammers, gold, and money."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.policy.answers import Said
from app.policy.core.ballots import UNKNOWN, Ballots
from app.policy.core.belief import NOBODY, Array, IntArray, ItemContext, Mask
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.quality.item_features import ItemFeatures
from app.policy.worker_choice.base import SHORTLIST, CandidateWorkers
from app.simulation.crowds import Respondents
from app.simulation.memory_job import ROUNDING, MemoryJob


@dataclass(frozen=True)
class Guards:
    """The rules that keep gold made by the crowd from confirming itself; only a simulation can switch them off."""

    own_votes: bool = True  # workers are not scored on an item that their own vote helped to decide
    recheck: bool = True  # some answers on promoted items check the item, and may demote it
    doubt: bool = True  # a refit does not take a promoted item as known


ALL_GUARDS = Guards()
_NO_TIER = 9  # after every tier that an item may have


def _with_one_more(price: Array | None, stated: Array | None) -> tuple[Array | None, Array | None]:
    """The workers' prices and stated accuracies with those of one more worker."""
    more_price = None if price is None else np.append(price, 1.0)
    return more_price, None if stated is None else np.vstack([stated, [np.nan, np.nan]])


class SimulatedJob:
    """A job and its crowd, as the service runs them: the policy's pure functions make every decision.

    An answer arrives as soon as it is asked for, so no assignment is ever open. What the service does in the
    background, refits and recounts, is done before the next request. The policy's seed and `rng`, which draws the
    answers, determine everything. `context.gold` is the requester's gold; the crowd draws its answers from its truth.

    >>> from app.simulation.crowds import Crowd, skilled
    >>> crowd = Crowd(np.array([0, 1, 1]), skilled([1.0, 1.0, 1.0], 2))
    >>> simulated = SimulatedJob(JobPolicy(labels=("cat", "dog")), crowd, np.random.default_rng(1))
    >>> while any([simulated.serve(worker) for worker in range(3)]):
    ...     pass
    >>> simulated.job.label.tolist(), simulated.job.spent
    ([0, 1, 1], 9.0)
    """

    def __init__(  # noqa: PLR0913  all but three are keywords with a default
        self,
        policy: JobPolicy,
        crowd: Respondents,
        rng: np.random.Generator,
        *,
        context: ItemContext | None = None,
        price: Array | None = None,
        budget: float | None = None,
        stated: Array | None = None,
        source: int | None = None,
        features: Array | None = None,
        guards: Guards = ALL_GUARDS,
        shortlist: int | None = SHORTLIST,
    ) -> None:
        """`source` is the worker of the crowd whose opinion `context.prior` is; None: nobody of the crowd.

        `stated`, (workers, 2), is the accuracy of workers that is known beforehand and its weight, NaN where it is not.
        `features`, (items, features), are those of the items, for a policy with `features`; NaN for items without.
        """
        self.crowd, self.policy, self.guards = crowd, policy, guards
        self._rng = rng
        self._shortlist = crowd.items if shortlist is None else shortlist  # None: every open item is valued
        known = ItemContext.plain(crowd.items) if context is None else context
        engine = Engine(
            policy,
            budget=budget,
            inverse_costs=float((1 / known.cost).sum()),
            price=1.0 if price is None else float(np.median(price)),
        )
        workers = crowd.workers
        if known.prior is not None and source is None:  # somebody who is never asked
            source, workers = workers, workers + 1
            price, stated = _with_one_more(price, stated)
        described = None
        if features is not None and policy.features is not None:
            described, workers = ItemFeatures(features, workers), workers + 1
            price, stated = _with_one_more(price, stated)
        self.job = MemoryJob(engine, known, workers, price=price, stated=stated, source=source, features=described)
        self.blocked = np.zeros(workers, dtype=bool)
        self.promoted = np.full(crowd.items, UNKNOWN)  # (items,) the class of an item that the crowd made gold
        self.gold_asked = np.zeros(workers, dtype=np.int64)
        self._answers: list[tuple[int, int, Said]] = []  # item, worker and what was said, in their order
        self._seen = np.zeros((crowd.workers, crowd.items), dtype=bool)
        self._tie_breaks = self.job.engine.tie_breaks(known.number)

    @property
    def gold(self) -> IntArray:
        """The class of each gold item, made by the requester or by the crowd, shape (items,); -1: it is not gold."""
        known = self.job.context.gold
        return self.promoted if known is None else np.where(known == UNKNOWN, self.promoted, known)

    def accuracy(self) -> float:
        """The share of resolved items whose label is right."""
        resolved = self.job.label != NOBODY
        return float((self.job.label == self.crowd.truth)[resolved].mean()) if resolved.any() else np.nan

    @property
    def excluded(self) -> Mask:
        """Which workers get no more assignments, shape (workers,): blocked or low-information workers."""
        return np.asarray(self.blocked | self.job.low_information)

    def serve(self, worker: int) -> bool:
        """Give a worker the best item of the queue, and take the answer; False if there is nothing for this worker."""
        if self.excluded[worker]:
            return False
        one = np.array([worker])
        items, *_ = self._best_items(one, self.job.skill[one])
        return items[0] != NOBODY and self._assign(int(items[0]), worker)

    def serve_one_of(self, team: IntArray) -> bool:
        """Choose which of these workers to ask, and take the answer; False if there is nothing for any of them."""
        choice, job = self.policy.worker_choice, self.job
        free = team[~self.excluded[team]]
        if choice.compares_items:
            items, worth, tier = self._best_items(free, choice.assumed_skill(job.engine.model, job.skill[free]))
            first = (items != NOBODY) & (tier == tier.min(initial=_NO_TIER))
            free, items, worth = (each[first] for each in (free, items, worth))
            place = self._chosen(free, worth)
            return place is not None and self._assign(int(items[place]), int(free[place]))
        while (place := self._chosen(free, np.zeros(len(free)))) is not None:
            if self.serve(int(free[place])):
                return True
            free = np.delete(free, place)
        return False

    def rule_out(self, pairs: Mask) -> None:
        """Never ask these workers about these items; `pairs` is (workers, items)."""
        self._seen |= pairs

    def ask(self, item: int, worker: int) -> None:
        """Give this item, or gold in its place, to a worker, and take the answer."""
        self._assign(item, worker)

    def may_answer(self, item: int, workers: IntArray) -> IntArray:
        """The workers whom the job may ask about this item, in their order."""
        suits = ~self.excluded[workers] & ~self._seen[workers, item]
        return np.asarray(workers[suits & self._affordable(workers, np.array([item]))[:, 0]])

    def _chosen(self, workers: IntArray, worth: Array) -> int | None:
        job = self.job
        team = CandidateWorkers.with_worth(
            agreed_answers=job.agreed_answers[workers],
            scored_answers=job.scored_answers[workers],
            price=job.price[workers],
            number=job.number[workers],
            worth=worth,
            accuracy=job.engine.model.accuracy(job.skill[workers]),
        )
        return self.policy.worker_choice.choose_from(team, self.policy.seed, self._next_number, self.crowd.items)

    def _best_items(self, workers: IntArray, skill: Array) -> tuple[IntArray, Array, IntArray]:
        """The best item for each worker, the value of an answer per cost of the item, and the item's tier.

        The item is -1 where there is none.
        """
        job = self.job
        queue = job.shortlist(np.flatnonzero(job.open), len(job.open))
        suits = ~self._seen[np.ix_(workers, queue)] & self._affordable(workers, queue)
        listed = suits & (suits.cumsum(axis=1) <= self._shortlist)
        row, place = listed.nonzero()  # worker by worker, each in the order of the queue
        worth = np.full(listed.shape, -np.inf)
        if job.engine.tells_workers_apart:
            worth[row, place] = job.worth(queue[place], skill[row]) if len(row) else 0.0
        else:
            worth[row, place] = job.priority[queue[place]]
        if not len(queue):
            return np.full(len(workers), NOBODY), np.full(len(workers), -np.inf), np.full(len(workers), _NO_TIER)
        tier = np.where(listed, job.engine.tier(worth, job.state(queue).votes.sum(axis=1)), _NO_TIER)
        lowest = tier.min(axis=1)
        worth[tier > lowest[:, None]] = -np.inf
        best = worth.argmax(axis=1)
        found = worth[np.arange(len(workers)), best]
        return np.where(np.isneginf(found), NOBODY, queue[best]), found, lowest

    def _affordable(self, workers: IntArray, items: IntArray) -> Mask:
        """Which of the items the budget covers for each worker, shape (workers, items)."""
        job, budget = self.job, self.job.engine.budget
        if budget is None:
            return np.ones((len(workers), len(items)), dtype=bool)
        return np.asarray(np.outer(job.price[workers], job.context.cost[items]) <= budget - job.spent + ROUNDING)

    @property
    def _next_number(self) -> int:
        return self.job.answers + 1

    def _assign(self, offered: int, worker: int) -> bool:
        """Take the worker's answer on the offered item, or on gold in its place."""
        drawn = self._gold_for(worker)
        item = offered if drawn is None else drawn
        self._answer(item, worker, self.crowd.answers(np.array([item]), np.array([worker]), self._rng)[0].item())
        return True

    def _gold_for(self, worker: int) -> int | None:
        """A gold item, if this assignment is drawn to be one: the first from a random place on; None: no gold."""
        policy, number, name = self.policy, self._next_number, int(self.job.number[worker])
        gold = np.flatnonzero(self.gold != UNKNOWN)
        if not len(gold) or not policy.gold.drawn(policy.seed, name, number, int(self.gold_asked[worker])):
            return None
        suits = gold[~self._seen[worker, gold] & self._affordable(np.array([worker]), gold).ravel()]
        if not len(suits):
            return None
        start = self.job.engine.tie_breaks(np.array([number ^ name]))[0]
        later = suits[self._tie_breaks[suits] >= start]
        among = later if len(later) else suits
        return int(among[self._tie_breaks[among].argmin()])

    def _answer(self, item: int, worker: int, label: Said) -> None:
        """Record an answer, and do what follows from it."""
        job, was_open, gold = self.job, self.job.open[item], self.gold[item]
        checks = self._checks_the_item(item)
        one, who, what = np.array([item]), np.array([worker]), np.array([label])
        job.take(one, who, what, teaches=not checks)
        self._seen[worker, item] = True
        self._answers.append((item, worker, label))
        if gold != UNKNOWN and not checks:
            self.gold_asked[worker] += 1
            job.score_on_gold(who, np.array([self.policy.agrees(label, self._true(item))]))
        if checks and label != gold:
            job.restate(one, job.state(one), may_reopen=np.array([True]))
            self._demote(one)
        if was_open and job.label[item] != NOBODY:
            self._promote(item)
        self._block_guessers()
        if job.answers >= job.refit_at[0]:
            self.refit()

    def _true(self, item: int) -> Said:
        """What is right about a gold item."""
        values = self.job.context.gold_value
        known: Said = (self.gold if values is None else values)[item].item()
        return known

    def _checks_the_item(self, item: int) -> bool:
        auto_gold, number = self.policy.auto_gold, self._next_number
        if self.promoted[item] == UNKNOWN or auto_gold is None or not self.guards.recheck:
            return False
        return auto_gold.checks(self.policy.seed, number)

    def _promote(self, item: int) -> None:
        """Make an item that was just resolved gold, if its confidence is far above the requirement."""
        auto_gold, job = self.policy.auto_gold, self.job
        if auto_gold is None or not auto_gold.promotes(job.confidence(np.array([item])))[0]:
            return
        self.promoted[item] = job.label[item]
        if not self.guards.own_votes:
            for ballot in job.ballots[item]:
                job.scored_answers[ballot.worker] += 1
                job.agreed_answers[ballot.worker] += ballot.label == job.label[item]

    @property
    def _beyond_doubt(self) -> Mask:
        """Items made gold by the crowd that stay closed whatever their votes, shape (items,); none with the guards."""
        return np.asarray((self.promoted != UNKNOWN) & (not self.guards.doubt))

    def _demote_fallen(self) -> None:
        """Demote the items made gold by the crowd whose label has changed since."""
        fallen = (self.promoted != UNKNOWN) & (self.promoted != self.job.label) & ~self._beyond_doubt
        self._demote(np.flatnonzero(fallen))

    def _demote(self, items: IntArray) -> None:
        """Take these items out of gold. Votes that were scored on them are not scored again."""
        self.promoted[items] = UNKNOWN
        self.job.never_score(items)

    def _block_guessers(self) -> None:
        """Block workers who do not differ from guessing, and handle their votes, until no more are found.

        As in the service, a worker is tested when votes of this worker have been scored.
        """
        spammers, job = self.policy.spammers, self.job
        while spammers is not None and job.scored_now.any():
            guesses = (
                spammers.guesses(job.agreed_answers, job.scored_answers, self.crowd.classes)
                & job.scored_now
                & ~self.blocked
            )
            job.scored_now[:] = False
            self.blocked |= guesses
            for worker in np.flatnonzero(guesses).tolist() if spammers.votes != "keep" else ():
                items = job.drop(worker) if spammers.votes == "remove" else np.array(job.answered[worker])
                job.recount(items, keep_closed=self._beyond_doubt)
                self._demote_fallen()

    def refit(self) -> None:
        """Fit skills and items to all answers, and decide by the result from now on."""
        gold = None if self.guards.doubt else self.gold
        self.job.refit(0, self.ballots(), gold=gold, never_reopens=self._beyond_doubt)
        self._demote_fallen()
        self._block_guessers()

    def ballots(self) -> Ballots:
        """All answers that count, in their order."""
        item, worker = np.array([pair for *pair, _ in self._answers], dtype=np.int64).reshape(-1, 2).T
        label = np.array([said for *_, said in self._answers])
        on_items = enumerate(self.job.ballots)
        counted = {(i, ballot.worker) for i, ballots in on_items for ballot in ballots if ballot.counted}
        kept = np.array([pair in counted for pair in zip(item.tolist(), worker.tolist(), strict=True)], dtype=bool)
        sizes = {"items": self.crowd.items, "workers": self.job.workers}
        return self.policy.ballots(item[kept], worker[kept], label[kept], **sizes)


def visits(simulated: SimulatedJob, rng: np.random.Generator) -> Iterator[int]:
    """Let workers arrive one by one at random until there is nothing for any of them; yields who has answered."""
    waiting = np.arange(simulated.crowd.workers)
    while len(waiting):
        worker = int(rng.choice(waiting))
        if simulated.serve(worker):
            yield worker
        else:
            waiting = waiting[waiting != worker]


def choices(simulated: SimulatedJob, team: IntArray | None = None) -> Iterator[int]:
    """Let the job choose whom to ask, of all workers or of a team, until nothing is left; yields the answers so far."""
    everybody = np.arange(simulated.crowd.workers) if team is None else team
    while simulated.serve_one_of(everybody):
        yield simulated.job.answers
