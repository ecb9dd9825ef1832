"""Turn votes into where an item stands: the one place where the service asks the engine."""

from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from app.domain import STATE_AFTER, Verdict
from app.policy.belief import Facts, State
from app.policy.engine import Engine, Judgement
from app.store.items import Standing


def judge_item(engine: Engine, votes: Sequence[int], cost: Decimal) -> tuple[Standing, Verdict]:
    facts = Facts(np.array([float(cost)]), np.zeros(1), np.zeros(1, dtype=np.int64), None, engine.rules.seed)
    judgement = engine.judge(State(np.array([votes], dtype=np.float64), np.empty((1, 0))), facts)
    verdict = engine.verdict(judgement, 0)
    return _standing(votes, judgement, verdict), verdict


def _standing(votes: Sequence[int], judgement: Judgement, verdict: Verdict) -> Standing:
    return Standing(
        state=STATE_AFTER[verdict.decision],
        votes=list(votes),
        priority=float(judgement.priority[0]),
        wanted=int(judgement.wanted[0]),
        label=verdict.label,
        confidence=float(judgement.belief.certainty[0]),
        progress=float(judgement.progress[0]),
        reason=verdict.reason,
    )
