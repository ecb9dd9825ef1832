"""Turn votes into where an item stands: the one place where the service asks the engine."""

from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from app.domain import STATE_AFTER, Verdict
from app.policy.belief import Belief
from app.policy.engine import Engine, Judgement
from app.store.items import Standing


def judge_item(engine: Engine, votes: Sequence[int], cost: Decimal) -> tuple[Standing, Verdict]:
    belief = Belief.of(votes)
    judgement = engine.judge(belief, np.array([float(cost)]))
    verdict = engine.verdict(belief, judgement, 0)
    return _standing(votes, judgement, verdict), verdict


def _standing(votes: Sequence[int], judgement: Judgement, verdict: Verdict) -> Standing:
    return Standing(
        state=STATE_AFTER[verdict.decision],
        votes=list(votes),
        priority=float(judgement.priority[0]),
        wanted=int(judgement.wanted[0]),
        label=verdict.label,
        confidence=float(judgement.confidence[0]),
        progress=float(judgement.progress[0]),
        reason=verdict.reason,
    )
