"""Begin with one accuracy per worker, and learn from the answers whether workers lean, or copy from one another."""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from app.domain import Reason
from app.policy.aggregation.ballots import Ballots
from app.policy.belief import Array, Facts, Mask, State
from app.policy.chance import uniform
from app.policy.shares import Index
from app.policy.workers.base import Choice, Refitted
from app.policy.workers.clarity import OF_CROWDS, Clarity
from app.policy.workers.confusion import Confusion
from app.policy.workers.copied import Copied, free_skills
from app.policy.workers.error_rate import ClearItems, ErrorRate
from app.policy.workers.held_out import Gain, folds, gain
from app.policy.workers.latent_truth import LatentTruth

_BINARY = 2
_PLAIN, _ROWS, _COPIED = 0, 1, 2  # stages
_SHARE_OF_THE_OTHER = {_PLAIN: 0.5, _ROWS: 0.2}  # what the other one has to say in a fit, by the stage in force
_FEWEST_ANSWERS = 100
_MANY_ANSWERS = 200_000  # of which copiers are looked for
_ACCUSING = 2.5  # the least margin by which copying must foretell better
_KNOWING = 1.0  # errors by which those who do not copy must be foretold better than guesses
_PROMISING = 0.5 / 5**0.5  # of the margin: half of what a fifth is expected to show where all five have the margin
_LEAST_EVIDENCE = 1e-3  # pseudo-answers that a skill keeps of each kind


class Auto(ErrorRate):
    """One accuracy per worker, until something else foretells the job's own answers better.

        move to the other stage if  mean(d) > margin * error(d),    d = log P'(answer | rest) - log P(answer | rest).

    All stages take an item to have one true class (Dawid and Skene 1979; Zhang et al., JMLR 17, 2016) and a degree of
    clarity (`Clarity`), and keep log P(class, degree) as evidence, so an item reads the same in each. The first spreads
    a worker's errors evenly over the other classes; the second, named two-coin with two labels and confusion with more,
    has a row per class. From 100 answers on, `choose` holds a fifth of them out, fits both stages on the rest, and
    compares how likely each held-out answer was; its error is that of sums by worker. The other fifths follow where the
    first shows half of the gain that would be expected of it, were the margin met in the end. Falling back needs the
    same margin, so chance alone does not make it flip. By itself the model is its first stage; `acting` is the one in
    force. For the comparison alone items are taken to be clear, which says the same and takes less time, and the first
    stage may take classes to be as common as they come, lest unequal classes pass for workers who lean to one.

    Neither of the two is quite true, and they err on different items. So what a fit says of the items is an average,
    P(t, g) = (1 - w) P(t, g | stage in force) + w P(t, g | other one), with w = 1/2 while the first is in force and
    w = 1/5 once the second is. What workers are known by, and what the next answers tell, is the stage's in force.

    In the third, `copied`, some workers repeat one source. It comes into force where a quick look suspects it and it
    foretells answers better than the other stages do, and than one accuracy of which nothing is expected, by 2.5 errors
    or the margin, whichever is more, and those who do not copy better than guesses, by 1 error; and stays while
    all that is so at all. Of more than 200,000 answers, those on a part of the items are looked at for it.

    All answers of six public sets speak for matrices: by 10 errors on adult2 (accuracy .778 for .760), 5.6 on bluebirds
    (.880 for .722), 3.2 on RTE (.930 for .927), 2.9 on TEMP (.942 for .939), 2.7 on D_PosSent (.952 for .945), 2.5 on
    weather (.857 for .857). Those of 60 simulated crowds of workers with one accuracy each never by more than 1.9.

    >>> Auto().stages(2), Auto().stages(5), Auto().stages(101)
    (('one-coin', 'two-coin', 'copied'), ('one-coin', 'confusion', 'copied'), ('one-coin',))
    """

    kind: Literal["auto"] = "auto"
    clarity: ClassVar[Clarity] = OF_CROWDS
    margin: Annotated[
        float, Field(ge=0, le=100, description="Standard errors by which a stage must foretell answers better")
    ] = 1.0

    def stages(self, classes: int) -> tuple[str, ...]:
        if classes > Confusion.most_labels:
            return ("one-coin",)
        return ("one-coin", "two-coin" if classes == _BINARY else "confusion", "copied")

    def acting(self, stage: int, classes: int) -> LatentTruth:
        if stage not in range(len(self.stages(classes))):
            raise ValueError(f"auto has no stage {stage} with {classes} labels")
        return (self, _Rows(prior=self.prior), Copied(prior=self.prior))[stage]

    def convert(self, skill: Array, from_stage: int, to_stage: int, classes: int) -> Array:
        """The same workers in the shape of another stage, shape (workers, parameters).

        What a worker has shown beyond a newcomer is split evenly over the rows, or summed over them, so a newcomer
        stays a newcomer, no answer counts twice, and there and back changes nothing.

        >>> Auto().convert(np.array([[4.0, 1.0], [24.0, 5.0]]), 0, 1, 2).tolist()
        [[4.0, 1.0, 1.0, 4.0], [14.0, 3.0, 3.0, 14.0]]
        """
        if (from_stage == _ROWS) == (to_stage == _ROWS):
            return skill
        newcomer: Array = np.array(self.prior)
        if to_stage == _ROWS:
            shares = newcomer + (skill - newcomer) / classes
            diagonal = np.eye(classes).ravel()
            return np.asarray(shares[:, :1] * diagonal + shares[:, 1:] / (classes - 1) * (1 - diagonal))
        rows = skill.reshape(len(skill), classes, classes)
        right = np.einsum("ijj->i", rows)
        both = np.stack([right, np.einsum("ijk->i", rows) - right], axis=1)
        return np.asarray(np.maximum(both - (classes - 1) * newcomer, _LEAST_EVIDENCE))

    def fitted(self, stage: int, ballots: Ballots, facts: Facts, skill: Array, prior: Array) -> Refitted:
        found, classes = super().fitted(stage, ballots, facts, skill, prior), ballots.classes
        if stage not in _SHARE_OF_THE_OTHER or len(self.stages(classes)) == 1:
            return found
        share, other = _SHARE_OF_THE_OTHER[stage], 1 - stage
        theirs = self.convert(prior, stage, other, classes)
        second = super().fitted(other, ballots, facts, theirs, theirs)
        both = found.state.evidence + np.log(1 - share), second.state.evidence + np.log(share)
        return replace(found, state=State(found.state.votes, np.logaddexp(*both)))

    def choose(self, ballots: Ballots, facts: Facts, prior: Array, stage: int = 0) -> Choice:
        """Whether the job should stay in `stage`; `prior` is in the shape of that stage, chance is of facts.seed."""
        names, answers = self.stages(ballots.classes), len(ballots.item)
        if len(names) == 1:
            return Choice(0, {}, 0, Reason("one-stage", f"{ballots.classes} labels are too many to tell them apart"))
        if answers < _FEWEST_ANSWERS:
            few = f"{answers} answers tell too little about workers; {_FEWEST_ANSWERS} are the fewest to compare models"
            return Choice(stage if stage == _ROWS else _PLAIN, {}, 0, Reason("too-few-answers", few))
        copying = self._copying(_part(ballots, facts.seed), facts, prior, stage)
        if copying is not None:
            return copying
        if stage != _COPIED:
            return self._of_the_first_two(ballots, facts, prior, stage)
        found = self._of_the_first_two(ballots, facts, prior, _PLAIN)  # whose skills have the same shape
        said = f"nobody is found any more to repeat one source; {found.reason.message}"
        return replace(found, reason=Reason(found.reason.code, said))

    def _of_the_first_two(self, ballots: Ballots, facts: Facts, prior: Array, stage: int) -> Choice:
        """Whether the other one of the first two stages foretells better by the margin."""
        names, held = self.stages(ballots.classes), folds(len(ballots.item), facts.seed)
        apart = self._compared(ballots, facts, prior, stage, held[:1])
        if len(held) > 1 and apart.gain.mean > _PROMISING * self.margin * apart.gain.error:
            apart = self._compared(ballots, facts, prior, stage, held)
        moves = apart.gain.mean > self.margin * apart.gain.error
        return Choice(
            stage=1 - stage if moves else stage,
            held_out=dict(zip(names[:_COPIED], apart.means, strict=True)),
            answers=apart.answers,
            reason=self._reason(moves, names[stage], names[1 - stage], apart),
        )

    def _compared(self, ballots: Ballots, facts: Facts, prior: Array, stage: int, held: list[Mask]) -> "_Apart":
        """How the first two stages foretell what is held out, the other one against the one in force."""
        scores = [
            self._scores(each, ballots, facts, self.convert(prior, stage, each, ballots.classes), held)
            for each in (_PLAIN, _ROWS)
        ]
        worker = np.concatenate([ballots.worker[fold] for fold in held])
        means = [float(score.mean()) for score in scores]
        return _Apart(gain(scores[1 - stage], scores[stage], worker), means, len(worker))

    def _scores(self, stage: int, ballots: Ballots, facts: Facts, prior: Array, held: list[Mask]) -> Array:
        """Of the first stage with classes as common as any other, or as they come: whichever foretells better."""
        kinds = (Confusion,) if stage else (ClearItems, _FreeShares)
        models = [kind(prior=self.prior) for kind in kinds]
        return max((_foretold(model, ballots, facts, prior, held) for model in models), key=np.mean)

    def _copying(self, ballots: Ballots, facts: Facts, prior: Array, stage: int) -> Choice | None:
        """The third stage, where it is suspected and foretells better than all else; in force, while better at all.

        The error is that of sums by item: what is made of items is what the models differ in. By worker, copiers, who
        are foretold by everything, would pass for workers whom it does not fit.
        """
        if len(ballots.item) < _FEWEST_ANSWERS:
            return None
        model, names = Copied(prior=self.prior), self.stages(ballots.classes)
        plain, rows = (self.convert(prior, stage, each, ballots.classes) for each in (_PLAIN, _ROWS))
        suspected = model.suspected(ballots, facts, plain)
        if not suspected.any():
            return None
        held = folds(len(ballots.item), facts.seed)
        item = np.concatenate([ballots.item[fold] for fold in held])
        rivals = [
            self._scores(_PLAIN, ballots, facts, plain, held),
            self._scores(_ROWS, ballots, facts, rows, held),
            _foretold(ClearItems(prior=self.prior), ballots, facts, free_skills(plain), held),
        ]
        apart = [model.told_apart(ballots.only(~fold), ballots.only(fold), facts, plain) for fold in held]
        scores, knowledge = (np.concatenate(each) for each in zip(*apart, strict=True))
        gains = [gain(scores, rival, item) for rival in rivals]
        margin = 0.0 if stage == _COPIED else max(self.margin, _ACCUSING)
        closest = min(gains, key=lambda found: found.mean - margin * found.error)
        if closest.mean <= margin * closest.error or not _others_know(knowledge, item, min(margin, _KNOWING)):
            return None
        rival = names[_ROWS] if closest is gains[_ROWS] else names[_PLAIN]
        found = _Apart(closest, [float(each.mean()) for each in (*rivals[:_COPIED], scores)], len(item))
        said = f"{suspected.sum()} of {ballots.heard.sum()} workers seem to repeat one source, right or wrong: "
        said += _said(rival, names[_COPIED], found)
        held_out = dict(zip(names, found.means, strict=True))
        return Choice(_COPIED, held_out, found.answers, Reason("some-copy", said))

    def _reason(self, moves: bool, here: str, there: str, apart: "_Apart") -> Reason:  # noqa: FBT001  a fact, not a switch
        said, margin = _said(here, there, apart), f"{self.margin:g} {'error' if self.margin == 1 else 'errors'}"
        if moves:
            return Reason("foretells-better", f"{said}: more than the margin of {margin}")
        return Reason("no-clear-gain", f"{said}: {here} stays unless it is better by {margin}")


def _others_know(knowledge: Array, item: Index, margin: float) -> bool:
    """Whether those who do not copy are foretold better than guesses: experts among guessers are not copiers.

    A policy asks on where opinions are divided, so guessers who happen to contradict an expert are met more often on
    one item than chance would have it, and pass for a camp unless they are held to it by answers held out.
    """
    others = ~np.isnan(knowledge)
    if not others.any():
        return False
    known = gain(knowledge[others], np.zeros(others.sum()), item[others])
    return known.mean > margin * known.error


def _said(here: str, there: str, apart: "_Apart") -> str:
    side = "better" if apart.gain.mean > 0 else "worse"
    return (
        f"{there} foretells answers {side} than {here}, by {abs(apart.gain.mean):.3g} nats per answer "
        f"on {apart.answers} answers held out, with a standard error of {apart.gain.error:.2g}"
    )


def _foretold(model: LatentTruth, ballots: Ballots, facts: Facts, prior: Array, held: list[Mask]) -> Array:
    """How likely the answers of all these folds are, each fold by the rest; (held-out answers,)."""
    return np.concatenate([model.foretold(ballots.only(~fold), ballots.only(fold), facts, prior) for fold in held])


def _part(ballots: Ballots, seed: int) -> Ballots:
    """All answers, or those on a random part of the items, so many as suffice to see copiers at work."""
    part = uniform(seed, np.arange(ballots.items)) * len(ballots.item) < _MANY_ANSWERS
    return ballots if part.all() else ballots.only(part[ballots.item])


class _Apart(NamedTuple):
    """How well the stages foretell the same answers."""

    gain: Gain  # of one stage over another
    means: list[float]  # log-likelihood of an answer, by stage
    answers: int


class _Rows(Confusion):
    """The second stage in force."""

    clarity: ClassVar[Clarity] = OF_CROWDS


class _FreeShares(ClearItems):
    """The first stage where it is compared on unequal classes."""

    shares_held: ClassVar[float] = 0.0
