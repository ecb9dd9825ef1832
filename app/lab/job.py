"""Run a job in memory: the decisions of the service, from the same engine, without its database."""

from dataclasses import dataclass, replace

import numpy as np

from app.domain import Verdict
from app.lab.rows import Rows
from app.policy.belief import Array, Facts, IntArray, State
from app.policy.engine import Engine, Judgement
from app.policy.shares import NOBODY, sole_leader
from app.policy.worker_choice import UpperConfidence


@dataclass(frozen=True)
class Ballot:
    """One worker's vote on an item."""

    worker: int
    label: int
    counted: bool  # False where the worker model leaves it out


class Job:
    """Items, workers, and what their answers have come to; row i of an item's array is item i.

    Whoever answers is a worker: an answer without a name is one of a worker who never comes again. Nothing is out:
    answers come as soon as they are asked for.

    >>> from app.policy.rules import Rules
    >>> job = Job(Engine(Rules(labels=("cat", "dog"))), Facts.plain(2), workers=3)
    >>> for worker in range(3):
    ...     job.take_one(item=0, worker=worker, label=1)
    >>> job.verdict(0).label, job.open.tolist(), job.best_item(worker=0), job.spent
    (1, [False, True], 1, 3.0)
    """

    def __init__(
        self, engine: Engine, facts: Facts, workers: int, *, skill: Array | None = None, price: Array | None = None
    ) -> None:
        self.engine = engine
        self.facts = facts = replace(facts, seed=engine.rules.seed)
        self._rows = Rows(engine.initial(facts))
        self.skill = np.tile(engine.newcomer(), (workers, 1)) if skill is None else skill.copy()  # (workers, *)
        self.price = np.ones(workers) if price is None else price  # (workers,) in units of the item's cost
        self.number = np.arange(1, workers + 1)  # (workers,) what chance hangs on
        self.agreed = np.zeros(workers)  # (workers,) votes that agree with the label of an item that is decided
        self.decided = np.zeros(workers)  # (workers,) votes on items whose label would lead without them
        self.spent = 0.0
        self.given = 0  # answers
        self.ballots: list[list[Ballot]] = [[] for _ in facts.cost]
        self.answered: list[list[int]] = [[] for _ in range(workers)]  # the items that each worker has answered
        first = engine.judge(self._rows.all(), facts)
        self.open = ~first.closed  # (items,)
        self.label = first.winner.copy()  # (items,) of an item that is resolved; -1 where there is none
        self.priority = first.priority.copy()  # (items,) for a newcomer: what the service stores
        self._lot = engine.tie_breaks(facts.number)
        self._classes = len(engine.rules.labels)
        self._final: dict[int, State] = {}  # the state in which an item closed
        self._memory: dict[bytes, Judgement] = {}

    @property
    def tells_workers_apart(self) -> bool:
        """Whose answer it would be plays a part in what it is worth."""
        return bool(self.skill.shape[1])

    def take_one(self, item: int, worker: int, label: int) -> None:
        """Count one answer, pay for it, and judge the item."""
        self.take(np.array([item]), np.array([worker]), np.array([label]))

    def take(self, item: IntArray, worker: IntArray, label: IntArray) -> IntArray:
        """Answers that do not touch each other, label[i] by worker[i] on item[i]; whose skill has changed.

        Items must differ; so must workers, where a vote, or the end of an item, teaches something about its workers.
        An item that is closed learns from an answer, and its verdict stands.
        """
        self._refuse_a_second_answer(item, worker)
        before, facts = self.state(item), self._facts(item)
        after, skill = self.engine.learn(before, facts, self.skill[worker], label)
        if len(np.unique(worker)) < len(worker) and (skill != self.skill[worker]).any():
            raise ValueError("answers that teach about the same worker are taken one after the other")
        self.skill[worker] = skill
        self._rows.put(item, after)
        self.given += len(item)
        self.spent += float((facts.cost * self.price[worker]).sum())
        counted = after.votes.sum(axis=1) > before.votes.sum(axis=1)
        for i, *ballot in zip(item.tolist(), worker.tolist(), label.tolist(), counted.tolist(), strict=True):
            self.ballots[i].append(Ballot(*ballot))
            self.answered[ballot[0]].append(i)
        resolved = self._judge(item[self.open[item]])
        return np.concatenate([worker, *(self._score(i) for i in resolved)])

    def state(self, item: IntArray) -> State:
        """What is kept of these items."""
        return self._rows.some(item)

    def verdict(self, item: int) -> Verdict:
        """Where an item stands, in words; of a closed one, why it closed."""
        one = np.array([item])
        state = self._final.get(item) or self.state(one)
        return self.engine.verdict(self.engine.judge(state, self._facts(one)), 0)

    def posterior(self) -> Array:
        """P(class c is the true one) for all items, shape (items, classes)."""
        return self.engine.prospect(self._rows.all(), self.facts).now.posterior

    def value(self, item: IntArray, worker: IntArray) -> Array:
        """What an answer of worker[i] on item[i] is worth per cost: `Appraisal.grid` for a list of pairs."""
        facts = self._facts(item, self.price[worker])
        return self.engine.priority(self.engine.prospect(self.state(item), facts, self.skill[worker]))

    def open_to(self, worker: int) -> IntArray:
        """The open items that the worker has not answered and the budget covers."""
        free = self.open.copy()
        free[self.answered[worker]] = False
        if self.engine.budget is not None:
            free &= self.facts.cost * self.price[worker] <= self.engine.budget - self.spent
        return np.flatnonzero(free)

    def shortlist(self, items: IntArray, length: int) -> IntArray:
        """The first of these items in the order of the stored priorities, as the service's queue has them."""
        return items[np.lexsort((self._lot[items], -self.priority[items]))[:length]]

    def best_item(self, worker: int, items: IntArray | None = None) -> int | None:
        """The item on which this worker's answer is worth most, among these or all that are open to the worker."""
        items = self.open_to(worker) if items is None else items
        if not len(items):
            return None
        value = self.priority[items]
        if self.tells_workers_apart:
            value = self.value(items, np.full(len(items), worker))
        best = items[value == value.max()]
        return int(best[self._lot[best].argmin()])

    def best_worker(self, item: int, choice: UpperConfidence) -> int | None:
        """The worker with the highest index among those who have not answered the item; None where all have."""
        free = np.ones(len(self.number), dtype=bool)
        free[[ballot.worker for ballot in self.ballots[item]]] = False
        workers = np.flatnonzero(free)
        if not len(workers):
            return None
        seed, turn = self.engine.rules.seed, self.given + 1
        record = self.agreed[workers], self.decided[workers], self.number[workers]
        return int(workers[choice.choose(*record, seed, turn)])

    def _refuse_a_second_answer(self, item: IntArray, worker: IntArray) -> None:
        if len(np.unique(item)) < len(item):
            raise ValueError("answers on the same item are taken one after the other")
        for i, w in zip(item.tolist(), worker.tolist(), strict=True):
            if any(ballot.worker == w for ballot in self.ballots[i]):
                raise ValueError(f"worker {w} has answered item {i} before")

    def _facts(self, item: IntArray, price: Array | float = 1.0) -> Facts:
        facts = self.facts
        prior = None if facts.prior is None else facts.prior[item]
        return Facts(facts.cost[item] * price, facts.in_flight[item], facts.number[item], prior, facts.seed)

    def _judge(self, item: IntArray) -> list[int]:
        """Bring the verdicts and priorities of open items up to date; which of them are resolved now."""
        state, facts = self.state(item), self._facts(item)
        judged = self._recalled if len(item) == 1 and self._alike_by_votes(state) else self.engine.judge
        judgement = judged(state, facts)
        self.open[item], self.label[item] = ~judgement.closed, judgement.winner
        self.priority[item] = judgement.priority
        self._final |= {i: self.state(np.array([i])) for i in item[judgement.closed].tolist()}
        return [i for i in item.tolist() if self.label[i] != NOBODY]

    def _recalled(self, state: State, facts: Facts) -> Judgement:
        """What was judged of the same votes before, or is now: streams of plain votes see the same few again."""
        alike = state.votes.tobytes() + facts.cost.tobytes() + facts.in_flight.tobytes()
        if alike not in self._memory:
            self._memory[alike] = self.engine.judge(state, facts)
        return self._memory[alike]

    def _alike_by_votes(self, state: State) -> bool:
        """Items of the same votes and cost stand alike."""
        allocation, bar = self.engine.rules.allocation, self.engine.rules.bar
        by_votes = allocation.by_votes_alone and not allocation.heeds_number and bar.by_votes_alone
        return by_votes and not state.evidence.shape[1] and self.facts.prior is None

    def _score(self, item: int) -> IntArray:
        """A finished item tells who agreed with its label; whose skill that changes.

        For the record of a worker, a vote counts only if the label would lead the votes without it: nobody is right
        by having decided the item. Models that judge workers by finished items count every vote, as in the service.
        """
        ballots, label = self.ballots[item], self.label[item]
        worker = np.array([ballot.worker for ballot in ballots])
        votes = np.array([ballot.label for ballot in ballots])
        own = np.eye(self._classes)[votes] * np.array([[ballot.counted] for ballot in ballots])  # (ballots, classes)
        leads = sole_leader(self.state(np.array([item])).votes - own) == label
        self.decided[worker] += leads
        self.agreed[worker] += leads & (votes == label)
        model = self.engine.rules.worker_model
        if model.scores_finished_items:
            self.skill[worker] = model.score(self.skill[worker], votes == label)
        return worker if model.scores_finished_items else worker[:0]
