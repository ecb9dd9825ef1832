"""Choose between one accuracy per worker and a row per true class, by held-out answers."""

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from app.policy.core.arrays import Array, Mask
from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.core.decision import Reason
from app.policy.core.tuning import TUNED
from app.policy.worker_models.auto.held_out import Gain, folds, gain, heldout_scores
from app.policy.worker_models.auto.stage_models import FreeShares, PlainStage, Rows
from app.policy.worker_models.inference.latent_truth import LatentTruth
from app.policy.worker_models.stages import StageChoice


@dataclass(frozen=True)
class Contest:
    """The answers on which stages are compared, and the workers' priors in the shapes of the first two stages."""

    names: tuple[str, ...]
    ballots: Ballots
    context: ItemContext
    plain: Array  # (workers, 2)
    rows: Array  # (workers, classes * classes)
    prior: tuple[float, float]
    margin: float

    def scores_of_plain(self, held: list[Mask]) -> Array:
        """Held-out scores of one accuracy per worker, with class shares held or free, whichever is better."""
        models = [kind(prior=self.prior) for kind in (PlainStage, FreeShares)]
        return max((self.scores(model, self.plain, held) for model in models), key=np.mean)

    def scores_of_rows(self, held: list[Mask]) -> Array:
        """Held-out scores of a row per true class."""
        return self.scores(Rows(prior=self.prior), self.rows, held)

    def scores(self, model: LatentTruth, prior: Array, held: list[Mask]) -> Array:
        """Held-out scores of a model, (held-out answers,)."""
        return heldout_scores(model, self.ballots, self.context, prior, held)


class StageComparison(NamedTuple):
    """How well stages predict the same answers."""

    gain: Gain  # of one stage over another
    means: list[float]  # log-likelihood of an answer, by stage
    answers: int

    def sentence(self, here: str, there: str) -> str:
        """The comparison in words.

        >>> StageComparison(Gain(0.0214, 0.0101), [], 5000).sentence("one-coin", "two-coin")
        'two-coin predicts 5,000 held-out answers better than one-coin, by 0.0214 nats per answer (standard error 0.01)'
        """
        side = "better" if self.gain.mean > 0 else "worse"
        return (
            f"{there} predicts {self.answers:,} held-out answers {side} than {here}, "
            f"by {abs(self.gain.mean):.3g} nats per answer (standard error {self.gain.error:.2g})"
        )


def choose_between(contest: Contest, stage: int) -> StageChoice:
    """Whether the other one of the first two stages predicts better by the margin."""
    held = folds(len(contest.ballots.item), contest.context.seed)
    found = _compared(contest, stage, held[:1])
    # The standard error of one part is sqrt(parts) times that of all parts together.
    promising = TUNED.stages.promising / sqrt(TUNED.stages.folds)
    if len(held) > 1 and found.gain.mean > promising * contest.margin * found.gain.error:
        found = _compared(contest, stage, held)
    moves = found.gain.mean > contest.margin * found.gain.error
    here, there = contest.names[stage], contest.names[1 - stage]
    return StageChoice(
        stage=1 - stage if moves else stage,
        held_out=dict(zip(contest.names[:2], found.means, strict=True)),
        answers=found.answers,
        reason=_reason(found.sentence(here, there), contest.margin, here, changes=moves),
    )


def _compared(contest: Contest, stage: int, held: list[Mask]) -> StageComparison:
    """How the first two stages predict these folds, the other one against the one in force."""
    scores = [contest.scores_of_plain(held), contest.scores_of_rows(held)]
    worker = np.concatenate([contest.ballots.worker[fold] for fold in held])
    means = [float(score.mean()) for score in scores]
    return StageComparison(gain(scores[1 - stage], scores[stage], worker), means, len(worker))


def _reason(sentence: str, margin: float, here: str, *, changes: bool) -> Reason:
    errors = f"{margin:g} standard {'error' if margin == 1 else 'errors'}"
    if changes:
        return Reason("predicts-better", f"{sentence}: more than the margin of {errors}")
    return Reason("no-clear-gain", f"{sentence}: {here} stays, because the margin is {errors}")
