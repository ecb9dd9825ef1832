"""Run a job in memory: the decisions of the service, from the same engine, without its database."""

from dataclasses import dataclass, replace

import numpy as np

from app.domain import Verdict
from app.lab.rows import Rows
from app.policy.aggregation.ballots import Ballots
from app.policy.belief import Array, Facts, IntArray, Mask, State
from app.policy.engine import Engine, Judgement
from app.policy.shares import NOBODY, sole_leader
from app.policy.worker_choice import UpperConfidence
from app.policy.workers.replayed import replayed

ROUNDING = 1e-9  # money is exact in the service: what costs the last tenth can still be bought


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
    >>> job.verdict(0).label, job.open.tolist(), job.spent
    (1, [False, True], 3.0)
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
        self.confidence = first.confidence.copy()  # (items,) when last judged
        self.held_now = np.zeros(workers, dtype=bool)  # (workers,) whose votes were held to a label; others reset it
        self._held: set[tuple[int, int]] = set()  # item and worker of votes that were held to a label: each is once
        self._lot = engine.tie_breaks(facts.number)
        self._classes = len(engine.rules.labels)
        self._final: dict[int, State] = {}  # the state in which an item closed
        self._memory: dict[bytes, Judgement] = {}

    def take_one(self, item: int, worker: int, label: int) -> None:
        """Count one answer, pay for it, and judge the item."""
        self.take(np.array([item]), np.array([worker]), np.array([label]))

    def take(self, item: IntArray, worker: IntArray, label: IntArray, *, teaches: bool = True) -> IntArray:
        """Answers that do not touch each other, label[i] by worker[i] on item[i]; whose skill has changed.

        Items must differ; so must workers, where a vote, or the end of an item, teaches something about its workers.
        An item that is closed learns from an answer, and its verdict stands. Answers that do not teach tell about the
        items alone, not about their workers.
        """
        self._refuse_a_second_answer(item, worker)
        before, facts = self.state(item), self.facts.rows(item)
        after, skill = self.engine.learn(before, facts, self.skill[worker], label)
        if teaches:
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

    def drop(self, worker: int) -> IntArray:
        """Take a worker's votes out of all ballots, yet to be recounted; the items on which they were given."""
        items = self.answered[worker]
        for i in items:
            self.ballots[i] = [ballot for ballot in self.ballots[i] if ballot.worker != worker]
        return np.array(items, dtype=np.int64)

    def recount(self, item: IntArray, *, stays: Mask) -> None:
        """Tell the answers on these items again by what is known of each worker now, and judge closed ones, too.

        Items that `stay`, shape (items of the job,), keep their verdict.
        """
        votes = [(row, ballot) for row, i in enumerate(item.tolist()) for ballot in self.ballots[i]]
        ballots = Ballots.of(
            [row for row, _ in votes],
            [ballot.worker for _, ballot in votes],
            [ballot.label for _, ballot in votes],
            items=len(item),
            workers=len(self.skill),
            classes=self._classes,
        )
        state = replayed(self.engine.model, ballots, self.facts.rows(item), self.skill)
        counts = self._whose_votes_count()
        for i in item.tolist():
            self.ballots[i] = [replace(ballot, counted=bool(counts[ballot.worker])) for ballot in self.ballots[i]]
        self.restate(item, state, reopens=~stays[item])

    def restate(self, item: IntArray, state: State, *, reopens: Mask) -> None:
        """Judge items anew, whose votes and evidence are now these; votes on those that are resolved now are held.

        Where an item may not reopen, shape (items,), a closed one stays closed: only its label may change, to another
        one that is good enough. As the service does after a fit, and when votes are taken out.
        """
        self._rows.put(item, state)
        judgement = self.engine.judge(state, self.facts.rows(item))
        resolved = self.label[item] != NOBODY
        kept = ~(reopens | self.open[item] | (resolved & (judgement.winner != NOBODY)))
        self._enter(item[~kept], judgement, ~kept)
        for i in item[~kept & ~resolved & (judgement.winner != NOBODY)].tolist():
            self._score(i)

    def hold(self, worker: IntArray, agreed: Mask) -> None:
        """Votes of different workers are held to gold, for their records and for models that judge by that."""
        self.decided[worker] += 1
        self.agreed[worker] += agreed
        self.held_now[worker] = True
        self._score_by_model(worker, agreed)

    def forgive(self, item: IntArray) -> None:
        """Votes on these items so far are held to no label any more."""
        self._held |= {(i, ballot.worker) for i in item.tolist() for ballot in self.ballots[i]}

    def state(self, item: IntArray) -> State:
        """What is kept of these items."""
        return self._rows.some(item)

    def verdict(self, item: int) -> Verdict:
        """Where an item stands, in words; of a closed one, why it closed."""
        one = np.array([item])
        state = self._final.get(item) or self.state(one)
        return self.engine.verdict(self.engine.judge(state, self.facts.rows(one)), 0)

    def posterior(self) -> Array:
        """P(class c is the true one) for all items, shape (items, classes)."""
        return self.engine.prospect(self._rows.all(), self.facts).now.posterior

    def value(self, item: IntArray, worker: IntArray) -> Array:
        """What an answer of worker[i] on item[i] is worth per cost, the worker's price included."""
        facts = self.facts.rows(item)
        dearer = replace(facts, cost=facts.cost * self.price[worker])
        return self.engine.worth(self.state(item), dearer, self.skill[worker])

    def worth(self, item: IntArray, skill: Array) -> Array:
        """What an answer of somebody with skill[i] on item[i] is worth per cost of the item, whatever they charge."""
        return self.engine.worth(self.state(item), self.facts.rows(item), skill)

    def open_to(self, worker: int) -> IntArray:
        """The open items that the worker has not answered and the budget covers."""
        free = self.open.copy()
        free[self.answered[worker]] = False
        if self.engine.budget is not None:
            free &= self.facts.cost * self.price[worker] <= self.engine.budget - self.spent + ROUNDING
        return np.flatnonzero(free)

    def shortlist(self, items: IntArray, length: int) -> IntArray:
        """The first of these items in the order of the stored priorities, as the service's queue has them."""
        return items[np.lexsort((self._lot[items], -self.priority[items]))[:length]]

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

    def _judge(self, item: IntArray) -> list[int]:
        """Bring the verdicts and priorities of open items up to date; which of them are resolved now."""
        state, facts = self.state(item), self.facts.rows(item)
        judged = self._recalled if len(item) == 1 and self._alike_by_votes(state) else self.engine.judge
        self._enter(item, judged(state, facts), np.ones(len(item), dtype=bool))
        return [i for i in item.tolist() if self.label[i] != NOBODY]

    def _enter(self, item: IntArray, judgement: Judgement, rows: Mask) -> None:
        """What was judged in these rows stands from now on."""
        closed = judgement.closed[rows]
        self.open[item], self.label[item] = ~closed, judgement.winner[rows]
        self.priority[item], self.confidence[item] = judgement.priority[rows], judgement.confidence[rows]
        self._final |= {i: self.state(np.array([i])) for i in item[closed].tolist()}

    def _recalled(self, state: State, facts: Facts) -> Judgement:
        """What was judged of the same votes before, or is now: streams of plain votes see the same few again."""
        alike = state.votes.tobytes() + facts.cost.tobytes() + facts.in_flight.tobytes()
        if alike not in self._memory:
            self._memory[alike] = self.engine.judge(state, facts)
        return self._memory[alike]

    def _alike_by_votes(self, state: State) -> bool:
        """Items of the same votes and cost stand alike."""
        return self.engine.rules.by_votes_alone and not state.evidence.shape[1] and self.facts.prior is None

    def _whose_votes_count(self) -> Mask:
        """Whether a vote of each worker would count on a fresh item, shape (workers,): a model may leave some out."""
        facts = Facts.plain(len(self.skill))
        label = np.zeros(len(self.skill), dtype=np.intp)
        answered = self.engine.model.answered(self.engine.initial(facts), facts, self.skill, label)
        return np.asarray(answered.votes.any(axis=1))

    def _score(self, item: int) -> IntArray:
        """A finished item tells who agreed with its label, each vote once; whose skill that changes.

        For the record of a worker, a vote for the label counts only if the label would lead the votes without it:
        nobody is right by having decided the item. Models that judge workers by finished items count every vote.
        """
        ballots = [ballot for ballot in self.ballots[item] if (item, ballot.worker) not in self._held]
        self._held |= {(item, ballot.worker) for ballot in ballots}
        worker = np.array([ballot.worker for ballot in ballots], dtype=np.int64)
        agreed = np.array([ballot.label for ballot in ballots], dtype=np.int64) == self.label[item]
        counted = np.array([ballot.counted for ballot in ballots], dtype=bool)
        votes = self.state(np.array([item])).votes
        one_less = sole_leader(votes - np.eye(self._classes)[[self.label[item]]])[0] == self.label[item]
        held = counted & (~agreed | one_less)
        self.decided[worker] += held
        self.held_now[worker[held]] = True
        self.agreed[worker] += held & agreed
        return self._score_by_model(worker, agreed)

    def _score_by_model(self, worker: IntArray, agreed: Mask) -> IntArray:
        """Let a model that judges workers by finished items hear of votes; whose skill that changes."""
        model = self.engine.rules.worker_model
        if not model.scores_finished_items:
            return worker[:0]
        self.skill[worker] = model.score(self.skill[worker], agreed)
        return worker
