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
    priors = [[np.nan] * classes if row.prior is None else row.prior for row in items]
    return Facts(
        cost=np.array([float(row.cost) for row in items]),
        in_flight=np.array([float(row.in_flight) for row in items]),
        number=np.array([row.item_id for row in items], dtype=np.int64),
        prior=np.array(priors) if any(row.prior is not None for row in items) else None,
        seed=engine.rules.seed,
    )


def state_of(standing: Standing) -> State:
    """The state of one item."""
    return State(np.array([standing.votes], dtype=np.float64), np.array([standing.evidence], dtype=np.float64))


def judge_one(engine: Engine, state: State, known: Known) -> tuple[Standing, Verdict]:
    judgement = engine.judge(state, facts_of(engine, [known]))
    verdict = engine.verdict(judgement, 0)
    return _standing(state, judgement, 0, verdict), verdict


def first_standings(engine: Engine, items: Sequence[Known]) -> list[Standing]:
    """Where new items stand. Their reasons are the same for the same cost and prior, so each is worded once."""
    facts = facts_of(engine, items)
    state = engine.initial(facts)
    judgement = engine.judge(state, facts)
    verdicts: dict[object, Verdict] = {}
    standings = []
    for row, known in enumerate(items):
        alike = (known.cost, tuple(known.prior or ()), bool(judgement.closed[row]))
        if alike not in verdicts:
            verdicts[alike] = engine.verdict(judgement, row)
        standings.append(_standing(state, judgement, row, verdicts[alike]))
    return standings


def _standing(state: State, judgement: Judgement, row: int, verdict: Verdict) -> Standing:
    return Standing(
        state=STATE_AFTER[verdict.decision],
        votes=state.votes[row].astype(int).tolist(),
        evidence=state.evidence[row].tolist(),
        priority=float(judgement.priority[row]),
        wanted=int(judgement.wanted[row]),
        label=verdict.label,
        confidence=float(judgement.belief.certainty[row]),
        progress=float(judgement.progress[row]),
        reason=verdict.reason,
    )
