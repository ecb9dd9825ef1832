"""Ask the engine about stored items: the only place in the service where rows become decisions."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeVar

import numpy as np

from app.domain.item import STATE_AFTER, HasState, Item, ItemDecision, ItemOpinions, ItemRow, ItemState
from app.policy.answers import Said
from app.policy.core.ballots import UNKNOWN
from app.policy.core.belief import Array, IntArray, ItemContext, State
from app.policy.core.decision import Verdict
from app.policy.core.lookahead import significant
from app.policy.core.number_belief import NumberBelief
from app.policy.core.policy import Uses
from app.policy.engine import Engine, Judgement, stays_closed
from app.policy.quality.item_features import FEATURES, PRIORS


@dataclass(frozen=True)
class ItemFacts:
    """What the engine must know about an item in addition to its state."""

    item_id: int
    cost: Decimal
    opinions: ItemOpinions  # that count
    open_assignments: int = 0
    gold: int | None = None  # only the requester's gold; gold that the crowd made is judged by its votes
    gold_value: float | None = None  # where answers are numbers
    joined: float = 0.0

    @property
    def kind(self) -> tuple[object, ...]:
        """Items of one kind with equal states get equal decisions, but for random draws."""
        said = tuple(None if opinion is None else tuple(opinion) for opinion in self.opinions)
        return self.cost, self.gold, self.gold_value, said

    @classmethod
    def of(cls, item: Item | ItemRow) -> "ItemFacts":
        gold = None if item.promoted else item.gold
        return cls(item.item_id, item.cost, item.opinions, item.open_assignments, gold, item.gold_value, item.joined)


Judged = tuple[ItemDecision, Verdict]
_MOST_NUMBERS = 1_000_000  # new items times labels that are judged together: a few arrays of 8 MB
_WORDED_TOGETHER = 16  # to take one row apart costs more than to look at so many
Row = TypeVar("Row", bound=ItemRow | Item)


def context_of(engine: Engine, items: Sequence[ItemFacts]) -> ItemContext:
    """Convert these facts for the engine; row i is item i."""
    prior, gold, gold_value = None, None, None
    if any(item.opinions for item in items):
        prior = engine.believed(_shares([item.opinions for item in items], len(engine.policy.labels)))
    if any(item.gold is not None for item in items):
        gold = np.array([UNKNOWN if item.gold is None else item.gold for item in items], dtype=np.int64)
    if any(item.gold_value is not None for item in items):
        gold_value = np.array([item.gold_value for item in items], dtype=np.float64)  # None becomes NaN
    return ItemContext(
        cost=np.array([float(item.cost) for item in items]),
        open_assignments=np.array([float(item.open_assignments) for item in items]),
        number=np.array([item.item_id for item in items], dtype=np.int64),
        prior=prior,
        seed=engine.policy.seed,
        gold=gold,
        gold_value=gold_value,
        joined=np.array([item.joined for item in items]) if engine.allocation.has_clock else None,
    )


def _shares(opinions: Sequence[ItemOpinions], labels: int) -> Array:
    """Convert the opinions of each source about each item, shape (sources, items, labels)."""
    found: Array = np.full((max(map(len, opinions)), len(opinions), labels), np.nan)
    for item, said in enumerate(opinions):
        for source, shares in enumerate(said):
            if shares is not None:
                found[source, item] = shares
    return found


def state_of(decisions: Sequence[HasState]) -> State:
    """Collect votes and model states of these items; all model states must have the same length."""
    return State(
        np.array([decision.votes for decision in decisions], dtype=np.float64),
        np.array([decision.model_state for decision in decisions], dtype=np.float64),
    )


def with_state(rows: Sequence[ItemRow], state: State) -> list[ItemRow]:
    """Replace the votes and model states of the items, row by row; model states may be padded with NaN."""
    votes = state.votes.astype(int).tolist()
    kept = [each[~np.isnan(each)].tolist() for each in state.model_state]
    return [
        replace(row, decision=replace(row.decision, votes=votes[position], model_state=kept[position]))
        for position, row in enumerate(rows)
    ]


def learn(engine: Engine, items: Sequence[Item], skills: Array, said: Sequence[Said]) -> tuple[State, Array]:
    """Return the state of each item and the skill of each worker after worker i says said[i] about item i."""
    context = context_of(engine, [ItemFacts.of(item) for item in items])
    return engine.learn(state_of([item.decision for item in items]), context, skills, np.array(said))


def without_opinions(
    engine: Engine, item: Item, places: Collection[int], said: Sequence[Said], skills: Sequence[Array]
) -> Item:
    """Return the item without the opinions of these sources, as its answers by workers of these skills make it."""
    if PRIORS in places:
        item = replace(item, prior_answered=True)
    if FEATURES in places:
        item = replace(item, feature_opinion=None)
    context = context_of(engine, [ItemFacts.of(item)])
    state = engine.initial(context)
    for one, skill in zip(said, skills, strict=True):
        state = engine.model.after_answer(state, context, skill[None], np.array([one]))
    decision = replace(
        item.decision, votes=state.votes[0].astype(int).tolist(), model_state=state.model_state[0].tolist()
    )
    return replace(item, decision=decision)


def judge(engine: Engine, state: State, items: Sequence[ItemFacts]) -> list[Judged]:
    """Decide about items in this state, row by row.

    If only votes decide, the engine caches its verdicts by votes.
    """
    if state.model_state.shape[1] or not engine.by_votes_alone:
        return _judge_now(engine, state, items)
    votes = state.votes.astype(int).tolist()
    kinds = [(*row, *item.kind) for row, item in zip(votes, items, strict=True)]
    found = engine.remembered.find(kinds)
    new = {kind: row for row, kind in enumerate(kinds) if kind not in found}
    if new:
        rows = list(new.values())
        some = State(state.votes[rows], state.model_state[rows])
        fresh: dict[object, Judged] = dict(
            zip(new, _judge_now(engine, some, [items[row] for row in rows]), strict=True)
        )
        engine.remembered.add(fresh)
        found |= fresh
    return [found[kind] for kind in kinds]


def estimates(engine: Engine, decisions: Sequence[HasState]) -> list[tuple[float, float, float]]:
    """Return value, low and high of items whose answers are numbers, by the answers that they have."""
    if not decisions:
        return []
    belief = engine.model.read(state_of(decisions), ItemContext.plain(len(decisions)))
    assert isinstance(belief, NumberBelief)  # noqa: S101
    found = significant(np.column_stack([belief.value, belief.interval(engine.policy.interval_confidence)]))
    return [(value, low, high) for value, low, high in found.tolist()]


def judge_rows(engine: Engine, rows: Sequence[ItemRow | Item]) -> list[ItemDecision]:
    """Decide about stored items again, from their stored votes and model states."""
    found: dict[int, ItemDecision] = {}
    for group in _by_state_length(rows):
        state = state_of([row.decision for row in group])
        judged = judge(engine, state, [ItemFacts.of(row) for row in group])
        found |= {row.item_id: decision for row, (decision, _) in zip(group, judged, strict=True)}
    return [found[row.item_id] for row in rows]


def judge_open(engine: Engine, items: Sequence[Item]) -> list[Item]:
    """Judge the open ones among these items again, for allocations that depend on open assignments."""
    open_items = [item for item in items if item.decision.state is ItemState.OPEN]
    judged = dict(zip([item.item_id for item in open_items], judge_rows(engine, open_items), strict=True))
    return [replace(item, decision=judged.get(item.item_id, item.decision)) for item in items]


def judge_new(engine: Engine, items: Sequence[ItemFacts]) -> list[ItemDecision]:
    """Decide about items without answers. Equal items are judged once."""
    by_chance = Uses.NUMBER in engine.uses
    first: dict[object, int] = {}
    position = [first.setdefault((item.kind, item.item_id if by_chance else 0), len(first)) for item in items]
    different: list[ItemFacts] = []
    for item, kind in zip(items, position, strict=True):
        if kind == len(different):
            different.append(item)
    size = max(_MOST_NUMBERS // max(len(engine.policy.labels), 1), 1)
    judged: list[ItemDecision] = []
    for start in range(0, len(different), size):
        part = different[start : start + size]
        state = engine.initial(context_of(engine, part))
        judged += [decision for decision, _ in _judge_now(engine, state, part)]
    return [judged[kind] for kind in position]


def judge_as_first_vote(engine: Engine, item: Item, skill: Array, said: Said) -> tuple[ItemDecision, Verdict]:
    """Judge as if this were the first vote on a new item: the response to an answer on gold."""
    facts = ItemFacts(item.item_id, item.cost, item.opinions)
    context = context_of(engine, [facts])
    state = engine.model.after_answer(engine.initial(context), context, skill[None, :], np.array([said]))
    ((decision, verdict),) = judge(engine, state, [facts])
    return decision, verdict


def keep_closed(known: ItemDecision, judged: ItemDecision) -> ItemDecision:
    """Return the decision of a fit or a recount, unless the item stays closed; `known` has the judged votes."""
    before, after = known.state, judged.state
    resolved = before is ItemState.RESOLVED, after is ItemState.RESOLVED
    if resolved[0] and known.is_settled:
        return known
    return known if stays_closed(before is ItemState.OPEN, *resolved, corrects=True) else judged


def stay_closed(known: Sequence[ItemDecision], judged: Sequence[ItemDecision]) -> list[bool]:
    """Return which items keep their decision after an answer."""
    states = [(before.state, after.state) for before, after in zip(known, judged, strict=True)]
    is_open = [before is ItemState.OPEN for before, _ in states]
    was, is_resolved = ([state is ItemState.RESOLVED for state in column] for column in zip(*states, strict=True))
    stays: list[bool] = stays_closed(is_open, was, is_resolved, corrects=False).tolist()
    return stays


def values_for(engine: Engine, items: Sequence[Item], skills: Array) -> tuple[Array, IntArray]:
    """Return value per cost and tier of an answer to each item by workers with these skills, shape (items, workers)."""
    value, tier = np.empty((len(items), len(skills))), np.empty((len(items), len(skills)), dtype=np.int64)
    positions = {item.item_id: position for position, item in enumerate(items)}
    for group in _by_state_length(items):
        rows = [positions[item.item_id] for item in group]
        state = state_of([item.decision for item in group])
        value[rows] = engine.values_for(state, context_of(engine, [ItemFacts.of(item) for item in group]), skills)
        tier[rows] = engine.tier(value[rows], state.votes.sum(axis=1, keepdims=True))
    return value, tier


def _judge_now(engine: Engine, state: State, items: Sequence[ItemFacts]) -> list[Judged]:
    """Ask the engine. Equal items share one verdict, so that its message is formatted once."""
    judgement = engine.judge(state, context_of(engine, items))
    votes, model_state = state.votes.astype(int).tolist(), state.model_state.tolist()
    closed, winner = judgement.closed.tolist(), judgement.winner.tolist()
    by_chance = Uses.NUMBER in engine.requirement.uses  # the verdict may depend on the item's number
    kinds: list[object] = []
    first: dict[object, int] = {}
    for row, item in enumerate(items):
        number = item.item_id if by_chance and any(votes[row]) else 0
        kinds.append((*votes[row], *model_state[row], *item.kind, number, closed[row], winner[row]))
        first.setdefault(kinds[row], row)
    verdicts = dict(zip(first, _verdicts(engine, judgement, list(first.values())), strict=True))
    numbers = [
        each.tolist() for each in (judgement.tier, judgement.priority, judgement.max_open_assignments.astype(int))
    ]
    shares = judgement.confidence.tolist(), judgement.progress.tolist()
    return [
        (
            ItemDecision(
                state=STATE_AFTER[verdict.decision],
                votes=votes[row],
                model_state=model_state[row],
                tier=tier,
                priority=priority,
                max_open_assignments=most,
                label=verdict.label,
                confidence=confidence,
                progress=progress,
                reason=verdict.reason,
            ),
            verdict,
        )
        for row, (verdict, tier, priority, most, confidence, progress) in enumerate(
            zip((verdicts[kind] for kind in kinds), *numbers, *shares, strict=True)
        )
    ]


def _verdicts(engine: Engine, judgement: Judgement, rows: Sequence[int]) -> list[Verdict]:
    """Put these rows of a judgement into words, a few at a time, because a reason may read every row that it gets."""
    found = []
    for start in range(0, len(rows), _WORDED_TOGETHER):
        some = rows[start : start + _WORDED_TOGETHER]
        part = judgement if len(some) == len(judgement.winner) else judgement.rows(np.array(some))
        found += [engine.verdict(part, row) for row in range(len(some))]
    return found


def _by_state_length(rows: Sequence[Row]) -> Iterable[list[Row]]:
    """Group items by the length of their model states, because an array needs rows of equal length."""
    groups: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        groups[len(row.decision.model_state)].append(row)
    return groups.values()
