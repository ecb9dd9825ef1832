"""Votes that arrive together: decided in few passes, with the results of one after the other to the last digit.

Votes that share neither item nor worker commute. A vote waits for an earlier one on its item, whose decision says
whether the item takes more answers, and for an earlier one of its worker, from which the skill follows.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from app.domain.item import DECISION_OF, Item, ItemDecision
from app.errors import SufficeError
from app.policy.core.belief import Array, State
from app.policy.core.decision import Verdict
from app.use_cases.work.entering import Outcome, answer_to, check_vote, checks_gold, enter, pay, recorded, repeated
from app.use_cases.work.judging import (
    ItemFacts,
    Judged,
    judge,
    judge_as_first_vote,
    learn,
    stay_closed,
    without_opinions,
)
from app.use_cases.work.ledger import Ledger, Vote, VoteKey, replaced_opinions


@dataclass(slots=True)
class _PaidVote:
    """A vote that was accepted, and what follows from it."""

    position: int  # among the submissions
    vote: Vote  # with its item as it was before
    skill: Array  # of its voter after the vote
    state: State  # of its item, and of others that were learned with it, in their order


@dataclass(slots=True)
class _DecidedVote:
    """A vote with its item after it, and the verdict and the decision for its sender."""

    position: int
    vote: Vote
    item: Item
    verdict: Verdict
    shown: ItemDecision


@dataclass
class VoteBatch:
    """Votes in the order sent, until one of them needs all earlier ones in the ledger."""

    ledger: Ledger
    one_by_item: bool  # whether each item may occur once: the budget may refuse, or finished items score workers
    votes: list[tuple[int, Vote]] = field(default_factory=list)  # with their position among the submissions
    items: set[int] = field(default_factory=set)
    scored: set[str | None] = field(default_factory=set)

    def conflicts_with(self, vote: Vote) -> bool:
        """Whether the vote must wait until this batch is in the ledger.

        It does if it takes back opinions: then the earlier votes on its item are learned again, with the skills that
        their workers have by then.
        """
        if self.one_by_item and (vote.item.item_id in self.items or vote.worker in self.scored):
            return True
        return bool(self.votes and vote.item.opinions and replaced_opinions(self.ledger.job, vote.item, vote.worker))

    def add(self, position: int, vote: Vote) -> None:
        self.votes.append((position, vote))
        self.items.add(vote.item.item_id)
        if self.ledger.job.engine.scores_finished_items:
            voters = {answer.worker for answer in self.ledger.votes_on(vote.item.item_id)}
            self.scored |= (voters | {vote.worker}) - {None}

    def settle(self) -> dict[int, Outcome]:
        """Check, pay and learn from the votes, decide about their items, and put all of it into the ledger."""
        ledger, outcomes, taken = self.ledger, dict[int, Outcome](), set[VoteKey]()
        repeats: list[tuple[int, Vote]] = []
        decided: list[_DecidedVote] = []
        for votes in _passes(self.votes, learns=ledger.newcomer.size > 0):
            accepted = []
            for position, vote in votes:
                if vote.key in taken or vote.key in ledger.answers:
                    repeats.append((position, vote))
                    continue
                try:
                    accepted.append((position, _accepted(ledger, vote)))
                    taken.add(vote.key)
                except SufficeError as refusal:
                    outcomes[position] = refusal
            decided += _decide(ledger, _learn(ledger, accepted))
        decided.sort(key=lambda one: one.position)  # answers are numbered in the order sent
        for number, one in enumerate(decided, ledger.given - len(decided) + 1):
            answer = answer_to(ledger, one.vote, one.item, number, one.verdict, one.shown)
            enter(ledger, one.vote, one.item, answer)
            outcomes[one.position] = recorded(ledger.job, one.item, answer, duplicate=False)
        for position, vote in repeats:
            try:
                outcomes[position] = repeated(ledger.job, vote, ledger.answers[vote.key])
            except SufficeError as refusal:
                outcomes[position] = refusal
        return outcomes


def _passes(votes: Sequence[tuple[int, Vote]], *, learns: bool) -> Iterable[list[tuple[int, Vote]]]:
    """Split the votes so that no item occurs twice in a part; each part waits for the decisions about those before.

        pass(v) = max(1 + pass of the last vote on its item, pass of the last vote of its worker),

    the latter only where skills are learned. In each part the votes are in the order sent.
    """
    found: defaultdict[int, list[tuple[int, Vote]]] = defaultdict(list)
    of_item: dict[int, int] = {}
    of_worker: dict[str, int] = {}
    for position, vote in votes:
        number = of_item.get(vote.item.item_id, -1) + 1
        if learns and vote.worker is not None:
            number = max(number, of_worker.get(vote.worker, 0))
            of_worker[vote.worker] = number
        of_item[vote.item.item_id] = number
        found[number].append((position, vote))
    return [found[number] for number in sorted(found)]


def _accepted(ledger: Ledger, vote: Vote) -> Vote:
    """Check and pay the vote; returns it with its item as earlier votes have left it."""
    now = ledger.items[vote.item.item_id]
    if now is not vote.item:
        vote = replace(vote, item=now)
    check_vote(ledger, vote)
    pay(ledger, vote)
    return _instead_of_opinions(ledger, vote)


def _instead_of_opinions(ledger: Ledger, vote: Vote) -> Vote:
    """Return the vote with the opinions about its item taken back whose source answers: nothing counts twice."""
    item = vote.item
    places = replaced_opinions(ledger.job, item, vote.worker) if item.opinions else ()
    if not places:
        return vote
    given = [answer for answer in ledger.votes_on(item.item_id) if answer.counted and not answer.withheld]
    given.sort(key=lambda answer: answer.answer_id)
    skills = [ledger.skill_of(answer.voter) for answer in given]
    for place in places:
        ledger.replaced_opinions[place].add(item.item_id)
    said = [answer.said for answer in given]
    return replace(vote, item=without_opinions(ledger.job.engine, item, places, said, skills))


def _learn(ledger: Ledger, votes: Sequence[tuple[int, Vote]]) -> list[_PaidVote]:
    """Return the state of each vote's item after it, a worker's votes in order; learned skills go into the ledger."""
    paid = []
    for some in _levels(votes, learns=ledger.newcomer.size > 0):
        skills = np.array([ledger.skill_of(vote.voter) for _, vote in some])
        items, said = [vote.item for _, vote in some], [vote.said for _, vote in some]
        state, learned = learn(ledger.job.engine, items, skills, said)
        for (position, vote), before, after in zip(some, skills, learned, strict=True):
            keeps = checks_gold(ledger, vote) or not isinstance(vote.voter, str)
            if not keeps:
                ledger.learn_skill(vote.voter, after)
            paid.append(_PaidVote(position, vote, before if keeps else after, state))
    return paid


def _levels(votes: Sequence[tuple[int, Vote]], *, learns: bool) -> list[list[tuple[int, Vote]]]:
    """Split the votes so that no named worker occurs twice in a part, a worker's votes in order.

    An array needs rows of equal length, so items with model states of another length are in another part.
    """
    found: defaultdict[tuple[int, int], list[tuple[int, Vote]]] = defaultdict(list)
    given = Counter[str]()
    for position, vote in votes:
        level = 0
        if learns and vote.worker is not None:
            level = given[vote.worker]
            given[vote.worker] += 1
        found[level, len(vote.item.decision.model_state)].append((position, vote))
    return [found[level] for level in sorted(found)]


def _decide(ledger: Ledger, paid: Sequence[_PaidVote]) -> list[_DecidedVote]:
    """Decide about the items of these votes, all with model states of the same length at once."""
    by_length: defaultdict[int, list[_PaidVote]] = defaultdict(list)
    for one in paid:
        by_length[one.state.model_state.shape[1]].append(one)
    decided = []
    for alike in by_length.values():
        states = list({id(one.state): one.state for one in alike}.values())
        votes, model_state = (
            np.concatenate([getattr(state, name) for state in states]) for name in ("votes", "model_state")
        )
        items = [_returned(one.vote) for one in alike]
        judged = judge(ledger.job.engine, State(votes, model_state), [ItemFacts.of(item) for item in items])
        stays = stay_closed([item.decision for item in items], [decision for decision, _ in judged])
        for one, item, new, keeps in zip(alike, items, judged, stays, strict=True):
            after = _DecidedVote(one.position, one.vote, *_after_vote(ledger, one, item, new, stays_closed=keeps))
            ledger.items[item.item_id] = after.item
            decided.append(after)
    return decided


def _returned(vote: Vote) -> Item:
    """Return the item of the vote without the assignment that the vote answers."""
    item = vote.item
    return replace(item, open_assignments=item.open_assignments - 1) if vote.under_live_assignment else item


def _after_vote(
    ledger: Ledger, paid: _PaidVote, item: Item, judged: Judged, *, stays_closed: bool
) -> tuple[Item, Verdict, ItemDecision]:
    """Return the item after the vote, and the verdict and the decision for the sender.

    An item that closed while the worker held it stays closed. The response to an answer on gold looks like the response
    to the first answer on any other item. If a check refutes gold that the crowd made, the item is no longer gold and
    may be open again.
    """
    vote, before, (kept, verdict) = paid.vote, paid.vote.item.decision, judged
    if item.gold is not None and checks_gold(ledger, vote) and vote.said != item.gold:
        after = replace(item, decision=kept, gold=None, promoted=False)
    elif stays_closed:
        kept = replace(before, votes=kept.votes, model_state=kept.model_state)
        verdict = Verdict(DECISION_OF[before.state], before.reason, before.label)
        after = replace(item, decision=kept)
    else:
        after = replace(item, decision=kept)
    if item.gold is None:
        return after, verdict, kept
    seen, verdict = judge_as_first_vote(ledger.job.engine, vote.item, paid.skill, vote.said)
    return after, verdict, seen
