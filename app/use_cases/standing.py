"""Ask the engine about items of the store: the one place where rows become arrays, and arrays rows."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from app.domain import STATE_AFTER, Verdict
from app.policy.aggregation.ballots import UNKNOWN
from app.policy.belief import Array, Belief, Facts, IntArray, State
from app.policy.engine import Engine, Judgement
from app.policy.rules import Rules
from app.store.items import Item, Standing
from app.store.standings import Place

_MOST_REMEMBERED = 1000


@dataclass(frozen=True)
class Known:
    """What the engine must know of an item beside its state."""

    item_id: int
    cost: Decimal
    prior: Sequence[float] | None
    in_flight: int = 0
    gold: int | None = (
        None  # as the requester knows it: what the crowd made gold is believed no more than its votes say
    )

    @classmethod
    def of(cls, item: Item | Place) -> "Known":
        return cls(item.item_id, item.cost, item.prior, item.in_flight, None if item.promoted else item.gold)


def facts_of(engine: Engine, items: Sequence[Known]) -> Facts:
    classes = len(engine.rules.labels)
    prior = None
    if any(row.prior is not None for row in items):
        prior = np.array([[np.nan] * classes if row.prior is None else row.prior for row in items])
    return Facts(
        cost=np.array([float(row.cost) for row in items]),
        in_flight=np.array([float(row.in_flight) for row in items]),
        number=np.array([row.item_id for row in items], dtype=np.int64),
        prior=prior,
        seed=engine.rules.seed,
        gold=_gold(items),
    )


def _gold(items: Sequence[Known]) -> IntArray | None:
    if all(row.gold is None for row in items):
        return None
    return np.array([UNKNOWN if row.gold is None else row.gold for row in items], dtype=np.int64)


def state_of(standings: Sequence[Standing]) -> State:
    return State(
        np.array([standing.votes for standing in standings], dtype=np.float64),
        np.array([standing.evidence for standing in standings], dtype=np.float64),
    )


Judged = tuple[Standing, Verdict]


def judged(engine: Engine, state: State, items: Sequence[Known]) -> list[Judged]:
    """Where items in this state stand, row by row. Where votes alone decide, what was judged once is remembered."""
    if state.evidence.shape[1] or not engine.rules.by_votes_alone:
        return _judged(engine, state, items)
    memory = engine.rules.memory
    votes = state.votes.astype(int).tolist()
    alike = [(*row, known.cost, known.gold, *(known.prior or ())) for row, known in zip(votes, items, strict=True)]
    # A copy of what is needed: another thread may forget it all meanwhile.
    found: dict[object, Judged] = {kind: known for kind in alike if (known := memory.get(kind)) is not None}
    new = {kind: row for row, kind in enumerate(alike) if kind not in found}
    if new:
        rows = list(new.values())
        some = State(state.votes[rows], state.evidence[rows])
        fresh: dict[object, Judged] = dict(zip(new, _judged(engine, some, [items[row] for row in rows]), strict=True))
        _remember(engine.rules, fresh)
        found |= fresh
    return [found[kind] for kind in alike]


def _remember(rules: Rules, fresh: Mapping[object, Judged]) -> None:
    """As long as these rules are in use, and not without end."""
    if len(rules.memory) + len(fresh) > _MOST_REMEMBERED:
        rules.memory.clear()
    rules.memory.update(fresh if len(fresh) <= _MOST_REMEMBERED else {})


def _judged(engine: Engine, state: State, items: Sequence[Known]) -> list[Judged]:
    """Items that are alike get the same reason, worded once."""
    judgement = engine.judge(state, facts_of(engine, items))
    votes, evidence = state.votes.astype(int).tolist(), state.evidence.tolist()
    by_luck = not engine.rules.bar.steady
    worded: dict[object, Verdict] = {}
    found = []
    for row, known in enumerate(items):
        number = known.item_id if by_luck and any(votes[row]) else 0
        end = bool(judgement.closed[row]), int(judgement.winner[row])
        alike = (*votes[row], *evidence[row], known.cost, known.gold, *(known.prior or ()), number, *end)
        if alike not in worded:
            worded[alike] = engine.verdict(_alone(judgement, row), 0)
        found.append((_standing(votes[row], evidence[row], judgement, row, worded[alike]), worded[alike]))
    return found


def first_standings(engine: Engine, items: Sequence[Known]) -> list[Standing]:
    """Where new items stand. Most of many are alike, and share one standing."""
    facts = facts_of(engine, items)
    state = engine.initial(facts)
    judgement = engine.judge(state, facts)
    numbers = [
        *(state.votes, state.evidence, judgement.priority, judgement.wanted, judgement.progress, judgement.closed),
        *(
            judgement.confidence,
            judgement.winner,
            facts.cost,
            *([] if facts.prior is None else [np.nan_to_num(facts.prior)]),
        ),
    ]
    _, firsts, kinds = np.unique(np.column_stack(numbers), axis=0, return_index=True, return_inverse=True)
    votes, evidence = state.votes.astype(int).tolist(), state.evidence.tolist()
    standings = [
        _standing(votes[row], evidence[row], judgement, row, engine.verdict(judgement, row)) for row in firsts.tolist()
    ]
    return [standings[kind] for kind in kinds.ravel().tolist()]


def standings(engine: Engine, places: Sequence[Place | Item]) -> list[Standing]:
    """Where items stand by the engine's rules, from what is kept of their answers."""
    found: dict[int, Standing] = {}
    for alike in _by_width_of_evidence(places):
        state = state_of([place.standing for place in alike])
        for place, (standing, _) in zip(
            alike, judged(engine, state, [Known.of(place) for place in alike]), strict=True
        ):
            found[place.item_id] = standing
    return [found[place.item_id] for place in places]


def with_state(places: Sequence[Place], state: State) -> list[Place]:
    """The places with other votes and evidence, row by row; evidence may be padded with NaN."""
    votes = state.votes.astype(int).tolist()
    return [
        replace(place, standing=replace(place.standing, votes=votes[row], evidence=_unpadded(state.evidence[row])))
        for row, place in enumerate(places)
    ]


def _unpadded(evidence: Array) -> list[float]:
    kept: list[float] = evidence[~np.isnan(evidence)].tolist()
    return kept


def worths(engine: Engine, items: Sequence[Item], skills: Array) -> Array:
    """What an answer of a worker of each of these skills, (workers, *), is worth per cost, shape (items, workers)."""
    found = np.empty((len(items), len(skills)))
    rows: defaultdict[int, list[int]] = defaultdict(list)  # by the width of the evidence, as below
    for row, item in enumerate(items):
        rows[len(item.standing.evidence)].append(row)
    for alike in rows.values():
        some = [items[row] for row in alike]
        state, facts = state_of([item.standing for item in some]), facts_of(engine, [Known.of(item) for item in some])
        found[alike] = engine.worths(state, facts, skills)
    return found


def _by_width_of_evidence(places: Sequence[Place | Item]) -> Iterable[list[Place | Item]]:
    """A model may keep so much per answer; only rows of one length make an array."""
    groups: defaultdict[int, list[Place | Item]] = defaultdict(list)
    for place in places:
        groups[len(place.standing.evidence)].append(place)
    return groups.values()


def _alone(judgement: Judgement, row: int) -> Judgement:
    """One row by itself: what words a verdict may look at every row that it is given."""
    one, belief = slice(row, row + 1), judgement.belief
    return Judgement(
        belief=Belief(
            votes=belief.votes[one],
            weights=belief.weights[one],
            squares=belief.squares[one],
            alpha=belief.alpha[one],
            facts=belief.facts.rows(one),
            probability=None if belief.probability is None else belief.probability[one],
            clear=None if belief.clear is None else belief.clear[one],
        ),
        winner=judgement.winner[one],
        closed=judgement.closed[one],
        priority=judgement.priority[one],
        wanted=judgement.wanted[one],
        progress=judgement.progress[one],
    )


def _standing(
    votes: Sequence[int], evidence: Sequence[float], judgement: Judgement, row: int, verdict: Verdict
) -> Standing:
    return Standing(
        state=STATE_AFTER[verdict.decision],
        votes=votes,
        evidence=evidence,
        priority=float(judgement.priority[row]),
        wanted=int(judgement.wanted[row]),
        label=verdict.label,
        confidence=float(judgement.confidence[row]),
        progress=float(judgement.progress[row]),
        reason=verdict.reason,
    )
