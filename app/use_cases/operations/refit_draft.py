"""A refit that is not yet stored: the fit of all answers, and the answers that arrived since then."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.domain.answer import CountedVote
from app.domain.job import Job
from app.domain.opinion_source import OpinionSource
from app.domain.worker import Voter
from app.policy.core.belief import Array, IntArray, ItemContext, Mask, State
from app.policy.core.opinions import NO_SOURCE
from app.policy.quality.fitting import Fit
from app.policy.quality.item_features import FEATURES, PRIORS
from app.policy.worker_models.inference.answer_replay import replayed
from app.store.job_history import History
from app.use_cases.workers.skills import tier_skills


def context_of_history(history: History) -> ItemContext:
    """Build the context of all items by number; a deleted item has no answers, and priors are in the ballots."""
    job = history.job
    return replace(ItemContext.plain(job.last_item, job.policy.seed), gold=history.gold, gold_value=history.gold_value)


@dataclass
class RefitDraft:
    """Items and skills as fitted, updated with all answers up to the answer number `until`."""

    history: History
    fit: Fit

    def __post_init__(self) -> None:
        job, refitted, names = self.history.job, self.fit.refitted, self.history.crowd
        self.until = job.answers
        self.sources = self._sources()
        opinions = self.fit.opinions
        self.engine = self.with_fit(job).engine
        self.context = context_of_history(self.history)
        if opinions is not None:
            self.context = replace(self.context, prior=self.engine.believed(opinions.shares))
        self.votes, self.model_state = refitted.state.votes.copy(), np.array(refitted.state.model_state)
        self._begin_again()
        self.skills: dict[str, Array] = dict(zip(names, refitted.skill, strict=False))  # unnamed workers come last
        copying = [] if refitted.copying_probability is None else refitted.copying_probability.tolist()
        self.copying_probability = {name: one for name, one in zip(names, copying, strict=False) if not np.isnan(one)}
        self.newcomer = self.engine.newcomer()
        self._tiers = tier_skills(self.engine)

    def _begin_again(self) -> None:
        """Let items without answers begin with what their features say now."""
        untouched = np.flatnonzero(~self.votes.any(axis=1))
        if self._features_speak and len(untouched):
            self._put(untouched, self.engine.initial(self.context.rows(untouched)))

    @property
    def _features_speak(self) -> bool:
        return self.fit.opinions is not None and len(self.fit.opinions.source) > FEATURES

    def has_prior(self, item_id: int) -> bool:
        """Whether the item's prior counted in the fit."""
        return self.fit.opinions is not None and bool(self.fit.opinions.given[PRIORS, item_id - 1])

    def feature_opinions(self, item_ids: Sequence[int]) -> list[tuple[int, list[float] | None]]:
        """Return what the features of these items say, None where it does not count; empty if no item has features."""
        opinions = self.fit.opinions
        if opinions is None or not self._features_speak:
            return []
        rows = np.array(item_ids, dtype=np.intp) - 1
        pairs = zip(item_ids, opinions.given[FEATURES, rows].tolist(), opinions.shares[FEATURES, rows], strict=True)
        return [(item_id, shares.tolist() if given else None) for item_id, given, shares in pairs]

    def with_fit(self, job: Job) -> Job:
        """Return the job in the stage that the fit has chosen, with its calibration and its sources of opinions.

        The block of a source is a requester's, and stays.
        """
        pairs = enumerate(self.sources)
        sources = tuple(job.source(place) if job.source(place).blocked else found for place, found in pairs)
        return job.reconfigured(
            stage=self.fit.stage, calibration=self.fit.calibration or job.calibration, sources=sources
        )

    def _sources(self) -> tuple[OpinionSource, ...]:
        """How the opinions of each source are taken from now on: as before, unless the source's skill has moved."""
        job, opinions, echoes = self.history.job, self.fit.opinions, self.fit.echoes
        if opinions is None or echoes is None:
            return job.sources
        pairs = zip(opinions.source.tolist(), echoes, strict=True)
        found = [self._source(place, worker, who) for place, (worker, who) in enumerate(pairs)]
        return (*found, *job.sources[len(found) :])

    def _source(self, place: int, worker: int, echoes: Mask) -> OpinionSource:
        job, crowd = self.history.job, self.history.crowd
        before = job.source(place)
        if worker == NO_SOURCE:
            return before
        skill = tuple(self.fit.refitted.skill[worker].tolist()) or None  # models of votes keep none
        named = frozenset(crowd[row] for row in np.flatnonzero(echoes).tolist() if row < len(crowd))
        found = OpinionSource(skill, named)
        same_shape = before.skill is None or len(before.skill) == len(skill or ())
        after = job.reconfigured(stage=self.fit.stage).with_source(place, found)
        stays = same_shape and after.engine.believes_as(job.engine)
        return replace(found, skill=before.skill) if stays else found

    @property
    def item_ids(self) -> list[int]:
        """List the items with answers, and those about which features say something."""
        opinions, concerned = self.fit.opinions, self.votes.any(axis=1)
        if opinions is not None and self._features_speak:
            concerned |= opinions.given[FEATURES]
        return (np.flatnonzero(concerned) + 1).tolist()

    def learn(self, votes: Sequence[CountedVote]) -> None:
        """Learn answers that arrived since the fit, with the same result as one by one; newer items are left out."""
        for batch in _independent_batches([vote for vote in votes if vote.item_id <= len(self.votes)]):
            rows = np.array([vote.item_id - 1 for vote in batch])
            skill = np.array([self._skill_of(vote.voter) for vote in batch])
            label = np.array([vote.said for vote in batch])
            state, learned = self.engine.learn(self._state(rows), self.context.rows(rows), skill, label)
            self._put(rows, state)
            self.skills |= {
                vote.voter: row for vote, row in zip(batch, learned, strict=True) if isinstance(vote.voter, str)
            }

    def _skill_of(self, voter: Voter) -> Array:
        known = self.skills.get(voter) if isinstance(voter, str) else self._tiers.get(voter)
        return self.newcomer if known is None else known

    def with_votes(self, item_ids: Sequence[int], votes: Sequence[CountedVote], skills: Mapping[Voter, Array]) -> State:
        """Return these items' state after further votes by workers with these skills; the draft stays the same."""
        rows = np.array(item_ids) - 1
        if not votes:
            return self._state(rows)
        names: list[Voter] = [None, *skills]
        ballots = self.history.job.policy.ballots(
            np.searchsorted(rows, [vote.item_id - 1 for vote in votes]),
            [names.index(vote.voter) if vote.voter in skills else 0 for vote in votes],
            [vote.said for vote in votes],
            items=len(rows),
            workers=len(names),
        )
        known = np.array([self.newcomer, *skills.values()])
        return replayed(self.engine.model, ballots, self.context.rows(rows), known, self._state(rows))

    def _state(self, rows: IntArray) -> State:
        return State(self.votes[rows], self.model_state[rows])

    def _put(self, rows: IntArray, state: State) -> None:
        wider = state.model_state.shape[1] - self.model_state.shape[1]
        if wider > 0:  # the model stores something for every answer
            self.model_state = np.pad(self.model_state, ((0, 0), (0, wider)), constant_values=np.nan)
        self.votes[rows], self.model_state[rows] = state.votes, state.model_state


def _independent_batches(votes: Sequence[CountedVote]) -> Iterator[list[CountedVote]]:
    """Split the votes before an item or a worker repeats: the votes of a batch can be learned together."""
    batch: list[CountedVote] = []
    seen: set[object] = set()
    for vote in votes:
        touched = {vote.item_id, vote.voter if isinstance(vote.voter, str) else None} - {None}
        if touched & seen:
            yield batch
            batch, seen = [], set()
        batch.append(vote)
        seen |= touched
    if batch:
        yield batch
