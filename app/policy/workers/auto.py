"""Begin with one accuracy per worker, and tell classes apart once the answers show that workers do not err alike."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.domain import Reason
from app.policy.aggregation.ballots import Ballots
from app.policy.belief import Array, Facts, Mask
from app.policy.workers.confusion import Confusion
from app.policy.workers.error_rate import ErrorRate
from app.policy.workers.held_out import Gain, folds, foretold, gain
from app.policy.workers.latent_truth import LatentTruth

_BINARY = 2
_FEWEST_ANSWERS = 100
_LEAST_EVIDENCE = 1e-3  # pseudo-answers that a skill keeps of each kind


@dataclass(frozen=True)
class Choice:
    """Which stage is to be in force, and why."""

    stage: int
    held_out: dict[str, float]  # mean log-likelihood of an answer held out, by the name of the stage
    answers: int  # that were held out
    reason: Reason


class Auto(ErrorRate):
    """One accuracy per worker, and a confusion matrix per worker once that foretells the job's own answers better.

        move to the other stage if  mean(d) > margin * error(d),    d = log P'(answer | rest) - log P(answer | rest).

    Both stages take an item to have one true class (Dawid and Skene 1979; Zhang et al., JMLR 17, 2016) and keep log
    P(class) as evidence, so an item reads the same in either. The first spreads a worker's errors evenly over the other
    classes; the second, named two-coin with two labels and confusion with more, has a row per class. From 100 answers
    on, `choose` holds a fifth of them out in turn, fits both stages on the rest, and compares how likely each held-out
    answer was; its error is that of sums by worker. Falling back needs the same margin, so chance alone does not make
    it flip. By itself the model is its first stage; `acting` is the one in force.

    With the margin of 4, bluebirds (8.6 errors; accuracy .898 for .722) and adult2 (28; .790 for .763) move, and RTE
    (3.2; .930 for .925) and TEMP (2.9; .942 for .939) stay. A margin of 2 moves all four, but none of 60 simulated
    crowds whose workers have one accuracy each (1.7 at most).

    >>> Auto().stages(2), Auto().stages(5), Auto().stages(101)
    (('one-coin', 'two-coin'), ('one-coin', 'confusion'), ('one-coin',))
    """

    kind: Literal["auto"] = "auto"
    margin: Annotated[
        float, Field(ge=0, le=100, description="Standard errors by which a stage must foretell answers better")
    ] = 4.0

    def stages(self, classes: int) -> tuple[str, ...]:
        if classes > Confusion.most_labels:
            return ("one-coin",)
        return ("one-coin", "two-coin" if classes == _BINARY else "confusion")

    def acting(self, stage: int, classes: int) -> LatentTruth:
        if stage not in range(len(self.stages(classes))):
            raise ValueError(f"auto has no stage {stage} with {classes} labels")
        return Confusion(prior=self.prior) if stage else self

    def convert(self, skill: Array, from_stage: int, to_stage: int, classes: int) -> Array:
        """The same workers in the shape of another stage, shape (workers, parameters).

        What a worker has shown beyond a newcomer is split evenly over the rows, or summed over them, so a newcomer
        stays a newcomer, no answer counts twice, and there and back changes nothing.

        >>> Auto().convert(np.array([[4.0, 1.0], [24.0, 5.0]]), 0, 1, 2).tolist()
        [[4.0, 1.0, 1.0, 4.0], [14.0, 3.0, 3.0, 14.0]]
        """
        if from_stage == to_stage:
            return skill
        newcomer: Array = np.array(self.prior)
        if to_stage:
            shares = newcomer + (skill - newcomer) / classes
            diagonal = np.eye(classes).ravel()
            return np.asarray(shares[:, :1] * diagonal + shares[:, 1:] / (classes - 1) * (1 - diagonal))
        rows = skill.reshape(len(skill), classes, classes)
        right = np.einsum("ijj->i", rows)
        both = np.stack([right, np.einsum("ijk->i", rows) - right], axis=1)
        return np.asarray(np.maximum(both - (classes - 1) * newcomer, _LEAST_EVIDENCE))

    def choose(self, ballots: Ballots, facts: Facts, prior: Array, stage: int = 0) -> Choice:
        """Whether the job should stay in `stage`; `prior` is in the shape of that stage, chance is of facts.seed."""
        names, answers = self.stages(ballots.classes), len(ballots.item)
        if len(names) == 1:
            return Choice(0, {}, 0, Reason("one-stage", f"{ballots.classes} labels are too many to tell them apart"))
        if answers < _FEWEST_ANSWERS:
            few = f"{answers} answers tell too little about workers; {_FEWEST_ANSWERS} are the fewest to compare models"
            return Choice(stage, {}, 0, Reason("too-few-answers", few))
        held = folds(answers, facts.seed)
        scores = [self._scores(each, ballots, facts, self._prior(prior, stage, each, ballots), held) for each in (0, 1)]
        other, worker = 1 - stage, np.concatenate([ballots.worker[fold] for fold in held])
        found = gain(scores[other], scores[stage], worker)
        moves = found.mean > self.margin * found.error
        means = {name: float(score.mean()) for name, score in zip(names, scores, strict=True)}
        return Choice(
            stage=other if moves else stage,
            held_out=means,
            answers=len(worker),
            reason=self._reason(moves, names[stage], names[other], found, len(worker)),
        )

    def _prior(self, prior: Array, stage: int, wanted: int, ballots: Ballots) -> Array:
        return self.convert(prior, stage, wanted, ballots.classes)

    def _scores(self, stage: int, ballots: Ballots, facts: Facts, prior: Array, held: list[Mask]) -> Array:
        model = self.acting(stage, ballots.classes)
        return np.concatenate([foretold(model, ballots, facts, prior, fold) for fold in held])

    def _reason(self, moves: bool, here: str, there: str, found: Gain, answers: int) -> Reason:  # noqa: FBT001  a fact, not a switch
        side = "better" if found.mean > 0 else "worse"
        said = (
            f"{there} foretells answers {side} than {here}, by {abs(found.mean):.3g} nats per answer "
            f"on {answers} answers held out, with a standard error of {found.error:.2g}"
        )
        if moves:
            return Reason("foretells-better", f"{said}: more than the {self.margin:g} errors that are asked for")
        return Reason("no-clear-gain", f"{said}: {here} stays unless it is better by {self.margin:g} errors")
