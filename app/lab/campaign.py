"""Run a whole job in memory, one request after the other: who is asked, refits, spammers, gold, and money."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from app.lab.crowd import Respondents
from app.lab.job import ROUNDING, Job
from app.policy import fitting
from app.policy.aggregation.ballots import UNKNOWN, Ballots
from app.policy.belief import Array, Facts, IntArray, Mask, State
from app.policy.engine import Engine
from app.policy.rules import Rules
from app.policy.shares import NOBODY
from app.policy.worker_choice import SHORTLIST, Team


@dataclass(frozen=True)
class Guards:
    """What keeps gold that the crowd made from confirming itself. Only here can it be switched off: to see why."""

    own_votes: bool = True  # nobody is scored on an item that his or her own vote helped to decide
    recheck: bool = True  # some answers on promoted items check the item, and may demote it
    doubt: bool = True  # a promoted item is not taken as known when all answers are fitted


ALL_GUARDS = Guards()


class Campaign:
    """A job and its crowd, as the service runs them: every decision is one of the policy's pure functions.

    Answers come as soon as they are asked for, so nothing is ever out. What the service does in the background, fits
    and recounts, is done before the next request. Everything hangs on the rules' seed and on `rng`, which draws the
    answers. A requester's own gold is in `facts.gold`; the truth of the crowd is what its answers are drawn from.

    >>> from app.lab.crowd import Crowd, skilled
    >>> crowd = Crowd(np.array([0, 1, 1]), skilled([1.0, 1.0, 1.0], 2))
    >>> campaign = Campaign(Rules(labels=("cat", "dog")), crowd, np.random.default_rng(1))
    >>> while any([campaign.serve(worker) for worker in range(3)]):
    ...     pass
    >>> campaign.job.label.tolist(), campaign.job.spent
    ([0, 1, 1], 9.0)
    """

    def __init__(
        self,
        rules: Rules,
        crowd: Respondents,
        rng: np.random.Generator,
        *,
        facts: Facts | None = None,
        price: Array | None = None,
        budget: float | None = None,
        guards: Guards = ALL_GUARDS,
        shortlist: int | None = SHORTLIST,
    ) -> None:
        self.crowd, self.rules, self.guards = crowd, rules, guards
        self._rng = rng
        self._shortlist = crowd.items if shortlist is None else shortlist  # None: every open item is valued
        known = Facts.plain(crowd.items) if facts is None else facts
        engine = Engine(rules, budget=budget, inverse_costs=float((1 / known.cost).sum()))
        self.job = Job(engine, known, crowd.workers, price=price)
        self.blocked = np.zeros(crowd.workers, dtype=bool)
        self.away = np.zeros(crowd.workers, dtype=bool)  # (workers,) turned away by the last fit
        self.promoted = np.full(crowd.items, UNKNOWN)  # (items,) the class of which the crowd made the item gold
        self.gold_asked = np.zeros(crowd.workers, dtype=np.int64)
        self._answers: list[tuple[int, int, int]] = []  # item, worker and label, in their order
        self._seen = np.zeros((crowd.workers, crowd.items), dtype=bool)
        self._lot = self.job.engine.tie_breaks(known.number)
        self._refit_at = rules.first_refit

    @property
    def gold(self) -> IntArray:
        """The class that an item is gold of, by the requester or by the crowd; -1: it is not, shape (items,)."""
        known = self.job.facts.gold
        return self.promoted if known is None else np.where(known == UNKNOWN, self.promoted, known)

    def accuracy(self) -> float:
        """The share of resolved items whose label is right."""
        resolved = self.job.label != NOBODY
        return float((self.job.label == self.crowd.truth)[resolved].mean()) if resolved.any() else np.nan

    @property
    def unwanted(self) -> Mask:
        """Who gets nothing any more, shape (workers,)."""
        return np.asarray(self.blocked | self.away)

    def serve(self, worker: int) -> bool:
        """A worker comes, and answers what the queue has; False where there is nothing for this worker."""
        if self.unwanted[worker]:
            return False
        one = np.array([worker])
        items, _ = self._offers(one, self.job.skill[one])
        return items[0] != NOBODY and self._assign(int(items[0]), worker)

    def serve_one_of(self, team: IntArray) -> bool:
        """The job chooses whom of these to ask; False where there is nothing for any of them."""
        choice, job = self.rules.worker_choice, self.job
        free = team[~self.unwanted[team]]
        if choice.compares_offers:
            items, worth = self._offers(free, choice.hoped(job.engine.model, job.skill[free]))
            free, items, worth = (each[items != NOBODY] for each in (free, items, worth))
            place = self._chosen(free, worth)
            return place is not None and self._assign(int(items[place]), int(free[place]))
        while (place := self._chosen(free, np.zeros(len(free)))) is not None:
            if self.serve(int(free[place])):
                return True
            free = np.delete(free, place)
        return False

    def rule_out(self, pairs: Mask) -> None:
        """These workers are never asked about these items, shape (workers, items)."""
        self._seen |= pairs

    def ask(self, item: int, worker: int) -> None:
        """A worker comes who gets this item, or gold in its place, and answers."""
        self._assign(item, worker)

    def may_answer(self, item: int, workers: IntArray) -> IntArray:
        """Those of the workers whom the job may ask about this item, in their order."""
        suits = ~self.unwanted[workers] & ~self._seen[workers, item]
        return np.asarray(workers[suits & self._affordable(workers, np.array([item]))[:, 0]])

    def _chosen(self, workers: IntArray, worth: Array) -> int | None:
        job = self.job
        team = Team.offered(
            agreed=job.agreed[workers],
            decided=job.decided[workers],
            price=job.price[workers],
            number=job.number[workers],
            worth=worth,
            trust=job.engine.model.accuracy(job.skill[workers]),
        )
        return self.rules.worker_choice.choose_from(team, self.rules.seed, self._next_number, self.crowd.items)

    def _offers(self, workers: IntArray, skill: Array) -> tuple[IntArray, Array]:
        """The best item for each worker, and what an answer is worth per cost of the item; -1 where there is none."""
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
            return np.full(len(workers), NOBODY), np.full(len(workers), -np.inf)
        best = worth.argmax(axis=1)
        found = worth[np.arange(len(workers)), best]
        return np.where(np.isneginf(found), NOBODY, queue[best]), found

    def _affordable(self, workers: IntArray, items: IntArray) -> Mask:
        """Which of the items the budget covers for each worker, shape (workers, items)."""
        job, budget = self.job, self.job.engine.budget
        if budget is None:
            return np.ones((len(workers), len(items)), dtype=bool)
        return np.asarray(np.outer(job.price[workers], job.facts.cost[items]) <= budget - job.spent + ROUNDING)

    @property
    def _next_number(self) -> int:
        return self.job.given + 1

    def _assign(self, offered: int, worker: int) -> bool:
        """The offer, or gold in its place, is answered."""
        drawn = self._gold_for(worker)
        item = offered if drawn is None else drawn
        label = int(self.crowd.answers(np.array([item]), np.array([worker]), self._rng)[0])
        self._answer(item, worker, label)
        return True

    def _gold_for(self, worker: int) -> int | None:
        """An item whose label is known, where the lot falls on this assignment: the first from a random place on."""
        rules, number, name = self.rules, self._next_number, int(self.job.number[worker])
        gold = np.flatnonzero(self.gold != UNKNOWN)
        if not len(gold) or not rules.gold.drawn(rules.seed, name, number, int(self.gold_asked[worker])):
            return None
        suits = gold[~self._seen[worker, gold] & self._affordable(np.array([worker]), gold).ravel()]
        if not len(suits):
            return None
        start = self.job.engine.tie_breaks(np.array([number ^ name]))[0]
        later = suits[self._lot[suits] >= start]
        among = later if len(later) else suits
        return int(among[self._lot[among].argmin()])

    def _answer(self, item: int, worker: int, label: int) -> None:
        """Record an answer, and see to what it leads to."""
        job, was_open, gold = self.job, self.job.open[item], self.gold[item]
        checks = self._checks_the_item(item)
        one, who, what = np.array([item]), np.array([worker]), np.array([label])
        job.take(one, who, what, teaches=not checks)
        self._seen[worker, item] = True
        self._answers.append((item, worker, label))
        if gold != UNKNOWN and not checks:
            self.gold_asked[worker] += 1
            job.hold(who, np.array([label == gold]))
        if checks and label != gold:
            job.restate(one, job.state(one), reopens=np.array([True]))
            self._demote(one)
        if was_open and job.label[item] != NOBODY:
            self._promote(item)
        self._block_guessers()
        if self._refit_at is not None and job.given >= self._refit_at:
            self.refit()

    def _checks_the_item(self, item: int) -> bool:
        auto_gold, number = self.rules.auto_gold, self._next_number
        if self.promoted[item] == UNKNOWN or auto_gold is None or not self.guards.recheck:
            return False
        return auto_gold.checks(self.rules.seed, number)

    def _promote(self, item: int) -> None:
        """An item that was just resolved, far above the requirement, becomes gold."""
        auto_gold, job = self.rules.auto_gold, self.job
        if auto_gold is None or not auto_gold.promotes(job.confidence[[item]])[0]:
            return
        self.promoted[item] = job.label[item]
        if not self.guards.own_votes:
            for ballot in job.ballots[item]:
                job.decided[ballot.worker] += 1
                job.agreed[ballot.worker] += ballot.label == job.label[item]

    @property
    def _beyond_doubt(self) -> Mask:
        """Items of the crowd's gold that stay closed, whatever their votes say, shape (items,): none, if guarded."""
        return np.asarray((self.promoted != UNKNOWN) & (not self.guards.doubt))

    def _demote_fallen(self) -> None:
        """What the crowd made gold is gold no more if its label does not stand."""
        fallen = (self.promoted != UNKNOWN) & (self.promoted != self.job.label) & ~self._beyond_doubt
        self._demote(np.flatnonzero(fallen))

    def _demote(self, items: IntArray) -> None:
        """Gold no more; who was held to it is not held to its label again."""
        self.promoted[items] = UNKNOWN
        self.job.forgive(items)

    def _block_guessers(self) -> None:
        """Block those who cannot be told from guessing, and deal with their votes, until nobody more is found.

        As in the service, a worker is tested when votes have been held to a label or to gold.
        """
        spammers, job = self.rules.spammers, self.job
        while spammers is not None and job.held_now.any():
            guesses = spammers.guesses(job.agreed, job.decided, self.crowd.classes) & job.held_now & ~self.blocked
            job.held_now[:] = False
            self.blocked |= guesses
            for worker in np.flatnonzero(guesses).tolist() if spammers.votes != "keep" else ():
                items = job.drop(worker) if spammers.votes == "remove" else np.array(job.answered[worker])
                job.recount(items, stays=self._beyond_doubt)
                self._demote_fallen()

    def refit(self) -> None:
        """Estimate skills and items anew from all answers, and act by what they say from now on."""
        job, rules = self.job, self.rules
        engine, ballots = job.engine, self.ballots()
        newcomers = np.tile(engine.newcomer(), (self.crowd.workers, 1))
        facts = replace(job.facts, gold=job.facts.gold if self.guards.doubt else self.gold)
        found = fitting.fit(rules.worker_model, engine.stage, ballots, facts, fitting.Crowd(job.skill, newcomers))
        job.engine, job.skill = replace(engine, stage=found.stage), found.refitted.skill.copy()
        self.away = job.engine.turned_away(job.skill, job.price, ballots.given)
        state = found.refitted.state
        answered = np.flatnonzero(state.votes.any(axis=1))
        reopens = ~self._beyond_doubt[answered] & (rules.refit is not None and rules.refit.reopen)
        job.restate(answered, State(state.votes[answered], state.evidence[answered]), reopens=reopens)
        self._demote_fallen()
        self._refit_at = None if rules.refit is None else rules.refit.next_at(job.given)
        self._block_guessers()

    def ballots(self) -> Ballots:
        """All answers that count, in their order."""
        item, worker, label = np.array(self._answers, dtype=np.int64).reshape(-1, 3).T
        on_items = enumerate(self.job.ballots)
        counted = {(i, ballot.worker) for i, ballots in on_items for ballot in ballots if ballot.counted}
        kept = np.array([pair in counted for pair in zip(item.tolist(), worker.tolist(), strict=True)], dtype=bool)
        sizes = {"items": self.crowd.items, "workers": self.crowd.workers, "classes": self.crowd.classes}
        return Ballots.of(item[kept], worker[kept], label[kept], **sizes)


def visits(campaign: Campaign, rng: np.random.Generator) -> Iterator[int]:
    """Workers come one by one at random, until there is nothing for any of them; gives who has answered."""
    waiting = np.arange(campaign.crowd.workers)
    while len(waiting):
        worker = int(rng.choice(waiting))
        if campaign.serve(worker):
            yield worker
        else:
            waiting = waiting[waiting != worker]


def choices(campaign: Campaign, team: IntArray | None = None) -> Iterator[int]:
    """The job chooses whom to ask, of all or of these, until there is nothing for any of them; counts the answers."""
    everybody = np.arange(campaign.crowd.workers) if team is None else team
    while campaign.serve_one_of(everybody):
        yield campaign.job.given
