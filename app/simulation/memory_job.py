"""Run a job in memory: the decisions of the service, from the same engine, without its database."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from app.domain.item import CROWD_CANNOT_REACH
from app.policy.answers import Said
from app.policy.core.ballots import Ballots
from app.policy.core.belief import NOBODY, Array, Belief, IntArray, ItemContext, Mask, State, sole_leader
from app.policy.core.decision import Verdict
from app.policy.core.opinions import NO_SOURCE, Opinions
from app.policy.core.policy import Uses
from app.policy.core.prices import MIN_PRICE, expected_price, has_moved, is_price_due
from app.policy.engine import Engine, SourceSkill
from app.policy.quality.fitting import Fit
from app.policy.quality.item_features import FEATURES, PRIORS, ItemFeatures
from app.policy.worker_choice import UpperConfidence
from app.policy.worker_models.base import credit
from app.policy.worker_models.inference.answer_replay import replayed
from app.simulation.parallel_runs import NEVER, ParallelRuns

ROUNDING = 1e-9  # the service counts money exactly: an answer that costs the last tenth can still be bought


@dataclass(frozen=True)
class Ballot:
    """One worker's vote on an item."""

    worker: int
    label: Said
    counted: bool  # False where the worker model leaves it out


class MemoryJob(ParallelRuns):
    """A single run that also keeps each item's ballots, the workers' records, and money; row i is item i.

    Every answer has a worker: an answer without a name counts as one of a worker who never returns.

    >>> from app.policy.job_policy import JobPolicy
    >>> job = MemoryJob(Engine(JobPolicy(labels=("cat", "dog"))), ItemContext.plain(2), workers=3)
    >>> for worker in range(3):
    ...     job.take_one(item=0, worker=worker, label=1)
    >>> job.verdict(0).label, job.open.tolist(), job.spent
    (1, [False, True], 3.0)
    """

    def __init__(
        self,
        engine: Engine,
        context: ItemContext,
        workers: int,
        *,
        skill: Array | None = None,
        price: Array | None = None,
        stated: Array | None = None,
        source: int | None = None,
        features: ItemFeatures | None = None,
    ) -> None:
        """`source` is the worker whose opinion `context.prior` is; None: priors are facts."""
        self._priors = None if source is None or context.prior is None else Opinions.of(context.prior, source)
        self.item_features = features
        self._opinions = _opinions_at_start(self._priors, features, len(context.cost), engine.policy.classes)
        self._echoes: Mask = np.zeros((len(engine.policy.sources), workers), dtype=bool)  # who repeats each source
        if self._opinions is not None:
            skills = (_source_skill(engine, one, skill, stated) for one in self._opinions.source.tolist())
            engine = replace(engine, sources=tuple(skills))
            context = replace(context, prior=engine.believed(self._opinions.shares))
        super().__init__(engine, context, workers, skill=skill, price=price, stated=stated)
        self.number = np.arange(1, workers + 1)  # (workers,) the number of each worker in random draws
        self.scored_answers = np.zeros(workers)  # (workers,) votes that were compared with a final label or with gold
        self.agreed_answers = np.zeros(workers)  # (workers,) those of them that agree with it
        self.scored_now: Mask = np.zeros(workers, dtype=bool)  # (workers,) scored since the caller last reset it
        self.spent = 0.0
        self._registered_price = engine.price  # that the job expects before any answer
        self._paid_prices = 0.0  # the sum of the prices of all answers
        self.ballots: list[list[Ballot]] = [[] for _ in context.cost]
        self.answered: list[list[int]] = [[] for _ in range(workers)]  # the items that each worker has answered
        self._scored: set[tuple[int, int]] = set()  # item and worker of each scored vote: none is scored twice
        self._tie_breaks = engine.tie_breaks(context.number)
        self._closing_state: dict[int, State] = {}  # the state in which an item closed

    @property
    def engine(self) -> Engine:
        """The engine at the current stage of the worker model."""
        return self.engines[int(self.stage[0])]

    @property
    def skill(self) -> Array:
        """The skill of each worker, shape (workers, parameters)."""
        return self.skill_of(int(self.stage[0]), slice(None))

    @property
    def answers(self) -> int:
        """How many answers the job has."""
        return int(self.given[0])

    @property
    def next_refit(self) -> int | None:
        """The number of answers at which the job is refitted next; None: never."""
        return None if self.refit_at[0] == NEVER else int(self.refit_at[0])

    def take_one(self, item: int, worker: int, label: Said) -> None:
        """Count one answer, pay for it, and judge the item."""
        self.take(np.array([item]), np.array([worker]), np.array([label]))

    def take(self, item: IntArray, worker: IntArray, label: npt.NDArray[Any], *, teaches: bool = True) -> None:
        """Count label[i] of worker[i] on item[i], pay for it, and judge the item; see `learn`.

        A closed item learns from an answer, and its decision stays.
        """
        self._refuse_repeated_answers(item, worker)
        if self._opinions is not None:
            own = (worker == self._opinions.source[:, None]) | self._echoes[:, worker]
            self._withdraw_opinions(own & self._opinions.given[:, item], item)
        was_open, votes_before = self.open[item], self.rows.votes[item].sum(axis=1)
        self.learn(item, worker, label, teaches=teaches)
        self.spent += float((self.context.cost[item] * self.price[worker]).sum())
        counted = self.rows.votes[item].sum(axis=1) > votes_before
        for i, *ballot in zip(item.tolist(), worker.tolist(), label.tolist(), counted.tolist(), strict=True):
            self.ballots[i].append(Ballot(*ballot))
            self.answered[ballot[0]].append(i)
        judged = item[was_open]
        self._keep_closing_states(judged)
        self._score_votes_on(judged[self.label[judged] != NOBODY])
        self._paid_prices += float(self.price[worker].sum())
        if Uses.PRICE in self.engine.uses and is_price_due(self.answers - len(item), self.answers):
            self._follow_prices()

    @property
    def unsettled(self) -> IntArray:
        """The items that the crowd has given up for a trusted worker to settle."""
        given_up = np.flatnonzero(~self.open & (self.label == NOBODY))
        return np.array([i for i in given_up.tolist() if self.verdict(i).reason.code == CROWD_CANNOT_REACH], dtype=int)

    def settle(self, item: int, worker: int, label: int) -> None:
        """Pay a trusted worker for the label of an unsettled item; as in the service, it is no vote."""
        self.spent += float(self.context.cost[item] * self.price[worker])
        self.rows.label[item] = label

    def refit(
        self, run: int | IntArray, ballots: Ballots, *, gold: IntArray | None = None, never_reopens: Mask | None = None
    ) -> None:
        """As in every run; opinions about items are those of their source, which the fit judges like a worker."""
        before = self.engine
        priors = None if before.skill_of_source(PRIORS) == () else self._priors
        super().refit(run, ballots.with_opinions(priors), gold=gold, never_reopens=never_reopens)
        if self._opinions is None:
            return
        if self.item_features is not None or not self.engine.believes_as(before):
            untouched = np.flatnonzero(self._opinions.given.any(axis=0) & ~self.rows.votes.any(axis=1))
            state = self.engine.initial(self.context.rows(untouched))
            self.restate(untouched, state, may_reopen=np.ones(len(untouched), dtype=bool))

    def drop(self, worker: int) -> IntArray:
        """Remove a worker's votes from all ballots; returns their items, which the caller has to recount.

        If the worker is a source of opinions, they no longer count either.
        """
        items, opinions = self.answered[worker], self._opinions
        places = [] if opinions is None else np.flatnonzero(opinions.source == worker).tolist()
        if opinions is not None and places:
            items = np.union1d(items, np.flatnonzero(opinions.given[places].any(axis=0))).tolist()
            self._believe_by(tuple(() if place in places else one for place, one in enumerate(self.engine.sources)))
            self.item_features = None if FEATURES in places else self.item_features
        for i in items:
            self.ballots[i] = [ballot for ballot in self.ballots[i] if ballot.worker != worker]
        return np.array(items, dtype=np.int64)

    def recount(self, item: IntArray, *, keep_closed: Mask) -> None:
        """Learn the answers on these items again with the current skills, and judge the items, closed ones too.

        Items that `keep_closed` names, shape (items of the job,), stay closed.
        """
        state = self._replayed(item)
        counts = self._whose_votes_count()
        for i in item.tolist():
            self.ballots[i] = [replace(ballot, counted=bool(counts[ballot.worker])) for ballot in self.ballots[i]]
        self.restate(item, state, may_reopen=~keep_closed[item])

    def _replayed(self, item: IntArray) -> State:
        """What the answers on these items say by the current skills."""
        votes = [(row, ballot) for row, i in enumerate(item.tolist()) for ballot in self.ballots[i]]
        ballots = self.policy.ballots(
            [row for row, _ in votes],
            [ballot.worker for _, ballot in votes],
            [ballot.label for _, ballot in votes],
            items=len(item),
            workers=self.workers,
        )
        return replayed(self.engine.model, ballots, self.context.rows(item), self.skill)

    def restate(self, item: IntArray, state: State, *, may_reopen: Mask) -> None:
        """Replace what is kept of these items, judge them again, and score the votes on those that are resolved now."""
        self._restate(self.engine, item, state, may_reopen=may_reopen)

    def _restate(self, engine: Engine, item: IntArray, state: State, *, may_reopen: Mask) -> None:
        resolved = self.label[item] != NOBODY
        replaced = self.rows.restate(engine, item, state, may_reopen=may_reopen)
        self._keep_closing_states(item[replaced])
        self._score_votes_on(item[replaced & ~resolved & (self.label[item] != NOBODY)])

    def score_on_gold(self, worker: IntArray, agreed: Mask) -> None:
        """Compare votes of different workers with gold: for their records, and for models that score workers."""
        self.scored_answers[worker] += 1
        self.agreed_answers[worker] += agreed
        self.scored_now[worker] = True
        self._score_by_model(worker, agreed)

    def never_score(self, item: IntArray) -> None:
        """Exempt the votes that these items have so far from being scored."""
        self._scored |= {(i, ballot.worker) for i in item.tolist() for ballot in self.ballots[i]}

    def confidence(self, item: IntArray) -> Array:
        """How likely the leading label of each of these items is right, shape (items,)."""
        return self.engine.judge(self.state(item), self.context.rows(item)).confidence

    def verdict(self, item: int) -> Verdict:
        """The decision about an item in words; of a closed one, why it closed."""
        one = np.array([item])
        state = self._closing_state.get(item) or self.state(one)
        return self.engine.verdict(self.engine.judge(state, self.context.rows(one)), 0)

    def belief(self) -> Belief:
        """What is believed about all items."""
        return self.engine.lookahead(self.rows.all(), self.context).now

    def value(self, item: IntArray, worker: IntArray) -> Array:
        """What an answer of worker[i] on item[i] is worth per cost, the worker's price included."""
        return self.worth(item, self.skill[worker]) / np.maximum(self.price[worker], MIN_PRICE)

    def worth(self, item: IntArray, skill: Array) -> Array:
        """What an answer of a worker with skill[i] on item[i] is worth per cost of the item, at any price."""
        return self.engine.value_for(self.state(item), self.context.rows(item), skill)

    def open_to(self, worker: int) -> IntArray:
        """The open items that the worker has not answered and the budget covers."""
        free = self.open.copy()
        free[self.answered[worker]] = False
        if self.engine.budget is not None:
            free &= self.context.cost * self.price[worker] <= self.engine.budget - self.spent + ROUNDING
        return np.flatnonzero(free)

    def shortlist(self, items: IntArray, length: int) -> IntArray:
        """The first of these items by tier and stored priority, as in the service's queue."""
        return items[np.lexsort((self._tie_breaks[items], -self.priority[items], self.rows.tier[items]))[:length]]

    def best_worker(self, item: int, choice: UpperConfidence) -> int | None:
        """The worker with the highest index of those who have not answered the item; None if all have."""
        free = np.ones(self.workers, dtype=bool)
        free[[ballot.worker for ballot in self.ballots[item]]] = False
        workers = np.flatnonzero(free)
        if not len(workers):
            return None
        seed, turn = self.policy.seed, self.answers + 1
        record = self.agreed_answers[workers], self.scored_answers[workers], self.number[workers]
        return int(workers[choice.choose(*record, seed, turn)])

    def _follow_prices(self) -> None:
        """Expect workers to charge what they have charged so far, and judge the open items by that if it has moved."""
        found = expected_price(self._registered_price, self._paid_prices, self.answers)
        if not has_moved(self.engine.price, found):
            return
        self.engines = [replace(engine, price=found) for engine in self.engines]
        unfinished = np.flatnonzero(self.open)
        self.restate(unfinished, self.state(unfinished), may_reopen=np.zeros(len(unfinished), dtype=bool))

    def _believe(self, found: Fit) -> None:
        """Take over the opinions of features, and each source's skill, unless it is next to the one that decides."""
        if self._opinions is None or found.opinions is None or found.echoes is None:
            return
        fitted = found.opinions
        self._echoes[: len(found.echoes)] = found.echoes
        if len(fitted.source) > FEATURES:
            shares = np.concatenate([self._opinions.shares[:FEATURES], fitted.shares[FEATURES:]])
            self._opinions = replace(self._opinions, shares=shares)
        sources = list(self.engine.sources)
        for place, worker in enumerate(fitted.source.tolist()):
            if worker == NO_SOURCE or sources[place] == ():
                continue
            skill = tuple(found.refitted.skill[worker].tolist()) or None  # models of votes keep none
            same_shape = sources[place] is None or len(sources[place] or ()) == len(skill or ())
            tried = replace(self.engine, sources=(*sources[:place], skill, *sources[place + 1 :]))
            if not (same_shape and tried.believes_as(self.engine)):
                sources[place] = skill
        self._believe_by(tuple(sources))

    def _believe_by(self, skills: tuple[SourceSkill, ...]) -> None:
        self.engines = [replace(engine, sources=skills) for engine in self.engines]
        if self._opinions is not None:
            self._replace_priors(self._opinions)

    def _withdraw_opinions(self, replaced: Mask, item: IntArray) -> None:
        """Take the opinions about these items back where `replaced`, (sources, items): their source answers now."""
        place, answer = np.nonzero(replaced)
        if not len(answer) or self._opinions is None:
            return
        self._opinions = self._opinions.without(place, item[answer])
        self._replace_priors(self._opinions)
        concerned = np.unique(item[answer])
        self.rows.put(concerned, self._replayed(concerned))

    def _replace_priors(self, opinions: Opinions) -> None:
        self.context = self.rows.context = replace(self.context, prior=self.engine.believed(opinions.shares))

    def _refuse_repeated_answers(self, item: IntArray, worker: IntArray) -> None:
        if len(np.unique(item)) < len(item):
            raise ValueError("two answers on one item were taken together: pass them one after the other")
        for i, w in zip(item.tolist(), worker.tolist(), strict=True):
            if any(ballot.worker == w for ballot in self.ballots[i]):
                raise ValueError(f"worker {w} has already answered item {i}")

    def _keep_closing_states(self, item: IntArray) -> None:
        self._closing_state |= {i: self.state(np.array([i])) for i in item[~self.open[item]].tolist()}

    def _whose_votes_count(self) -> Mask:
        """Whether a vote of each worker would count on a fresh item, shape (workers,): a model may leave some out."""
        context = ItemContext.plain(self.workers)
        label = np.zeros(self.workers, dtype=np.intp)
        answered = self.engine.model.after_answer(self.engine.initial(context), context, self.skill, label)
        return np.asarray(answered.votes.any(axis=1))

    def _score_votes_on(self, resolved: IntArray) -> None:
        """Compare the votes on these items with their labels, where an answer is one label."""
        for i in resolved.tolist() if self.policy.answer.is_one_label else ():
            self._score_votes(i)

    def _score_votes(self, item: int) -> None:
        """Compare the votes on a resolved item with its label, each vote at most once.

        In a worker's record a vote for the label counts only if the label would lead without it, unless the worker
        choice counts every vote: a worker is not right because of deciding the item. Models that score workers by
        finished items count every vote.
        """
        ballots = [ballot for ballot in self.ballots[item] if (item, ballot.worker) not in self._scored]
        self._scored |= {(item, ballot.worker) for ballot in ballots}
        worker = np.array([ballot.worker for ballot in ballots], dtype=np.int64)
        agreed = np.array([ballot.label for ballot in ballots], dtype=np.int64) == self.label[item]
        counted = np.array([ballot.counted for ballot in ballots], dtype=bool)
        votes = self.rows.votes[[item]]
        leads_without = sole_leader(votes - np.eye(votes.shape[1])[[self.label[item]]])[0] == self.label[item]
        scored = counted & (~agreed | leads_without | self.policy.worker_choice.scores_own_votes)
        self.scored_answers[worker] += scored
        self.scored_now[worker[scored]] = True
        self.agreed_answers[worker] += scored & agreed
        self._score_by_model(worker, agreed)

    def _score_by_model(self, worker: IntArray, agreed: Mask) -> None:
        """Update the skills of these workers if the model scores workers by finished items."""
        model = self.policy.worker_model
        if model.scores_finished_items:
            self.skill[worker] = model.score(self.skill[worker], agreed)


def _opinions_at_start(
    priors: Opinions | None, features: ItemFeatures | None, items: int, classes: int
) -> Opinions | None:
    """The opinions of the job's sources before any answer, in their order; features say nothing yet."""
    if features is None:
        return priors
    nothing: Array = np.full((items, classes), np.nan)
    first = Opinions.of(nothing, NO_SOURCE) if priors is None else priors
    return first.joined_by(Opinions.of(nothing, features.source))


def _source_skill(engine: Engine, source: int, skill: Array | None, stated: Array | None) -> tuple[float, ...] | None:
    """The skill of the source at the start; None: a newcomer's."""
    if source == NO_SOURCE:
        return None
    if skill is not None:
        return tuple(skill[source].tolist())
    if stated is None or np.isnan(stated[source, 0]):
        return None
    known = credit(engine.model, engine.newcomer()[None], stated[[source]], engine.policy.classes)
    return tuple(known[0].tolist())
