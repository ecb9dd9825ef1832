"""Ask the engine about items of the store: the one place where rows become arrays, and arrays rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from app.domain import STATE_AFTER, Verdict
from app.policy.belief import Facts, State
from app.policy.engine import Engine, Judgement
from app.store.items import Item, Standing


@dataclass(frozen=True)
class Known:
    """What the engine must know of an item beside its state."""

    item_id: int
    cost: Decimal
    prior: Sequence[float] | None
    in_flight: int = 0

    @classmethod
    def of(cls, item: Item) -> "Known":
        return cls(item.item_id, item.cost, item.prior, item.in_flight)


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
    )


def state_of(standings: Sequence[Standing]) -> State:
    return State(
        np.array([standing.votes for standing in standings], dtype=np.float64),
        np.array([standing.evidence for standing in standings], dtype=np.float64),
    )


def judged(engine: Engine, state: State, items: Sequence[Known]) -> list[tuple[Standing, Verdict]]:
    """Where items in this state stand, row by row. Items that are alike get the same reason, worded once."""
    judgement = engine.judge(state, facts_of(engine, items))
    votes, evidence = state.votes.astype(int).tolist(), state.evidence.tolist()
    by_luck = not engine.rules.bar.steady
    worded: dict[object, Verdict] = {}
    found = []
    for row, known in enumerate(items):
        number = known.item_id if by_luck and any(votes[row]) else 0
        end = bool(judgement.closed[row]), int(judgement.winner[row])
        alike = (*votes[row], *evidence[row], known.cost, *(known.prior or ()), number, *end)
        if alike not in worded:
            worded[alike] = engine.verdict(judgement, row)
        found.append((_standing(votes[row], evidence[row], judgement, row, worded[alike]), worded[alike]))
    return found


def first_standings(engine: Engine, items: Sequence[Known]) -> list[Standing]:
    """Where new items stand. Most of many are alike, and share one standing."""
    facts = facts_of(engine, items)
    state = engine.initial(facts)
    judgement = engine.judge(state, facts)
    numbers = [
        *(state.votes, state.evidence, judgement.priority, judgement.wanted, judgement.progress, judgement.closed),
        *(judgement.belief.certainty, facts.cost, *([] if facts.prior is None else [np.nan_to_num(facts.prior)])),
    ]
    _, firsts, kinds = np.unique(np.column_stack(numbers), axis=0, return_index=True, return_inverse=True)
    votes, evidence = state.votes.astype(int).tolist(), state.evidence.tolist()
    standings = [
        _standing(votes[row], evidence[row], judgement, row, engine.verdict(judgement, row)) for row in firsts.tolist()
    ]
    return [standings[kind] for kind in kinds.ravel().tolist()]


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
        confidence=float(judgement.belief.certainty[row]),
        progress=float(judgement.progress[row]),
        reason=verdict.reason,
    )
