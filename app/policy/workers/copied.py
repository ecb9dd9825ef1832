"""One accuracy per worker, but for those who repeat one source, be it right or wrong."""

from typing import ClassVar, Literal, NamedTuple

import numpy as np

from app.policy.aggregation.ballots import UNKNOWN, Ballots
from app.policy.belief import Array, Facts, Mask, State
from app.policy.workers.base import Refitted, with_gold
from app.policy.workers.camps import FAITH, Camps, named, settled
from app.policy.workers.clarity import OF_CROWDS, Clarity
from app.policy.workers.error_rate import ClearItems, ErrorRate
from app.policy.workers.latent_truth import normalised, without
from app.policy.workers.skill_rows import expected

FREE = (0.5, 0.5)  # pseudo-answers that let a skill be whatever the answers make of it
_MOST_ITERATIONS, _QUICK_ITERATIONS = 60, 8
_LEAST_GAIN, _ENOUGH_GAIN = 0.03, 15.0  # nats per answer, and in all: chosen workers agree, and that tells nothing
_LEAST_KNOWN = 0.03  # nats per answer
_MOST_COPIERS = 0.6  # of the workers
_COPIER = 0.5  # from this probability on a worker is one
_LEAST = 1e-300


class Copied(ErrorRate):
    """`ErrorRate` where workers may be copiers, whose agreement tells what their source says and not what is true.

    A fit (`camps.settled`) begins twice, with the suspicion that the better half of the workers copies (by one accuracy
    each), and the worse half, and keeps what foretells each answer better from the others. Skills are those of
    `ErrorRate` under its P(t): between fits a copier is somebody who is right as often as the source.

    That copiers betray themselves by errors in common is the idea of Dong, Berti-Equille and Srivastava (VLDB 2009).
    Which of two camps copies is told by manners alone: copiers agree to the word, others as often as knowledge makes
    them agree. Where one half knows everything and the other half shares a misconception, that is misread, unless
    known classes (gold) show who is right.
    """

    kind: Literal["copied"] = "copied"
    clarity: ClassVar[Clarity] = OF_CROWDS

    def _kept(self, evidence: Array) -> Array:
        """Log P(t), shape (items, classes), as the evidence that is kept of items."""
        clarity, classes = self.clarity_of(evidence.shape[1]), evidence.shape[1]
        return clarity.rows(clarity.joint(evidence, classes))

    @property
    def _clear(self) -> ClearItems:
        return ClearItems(prior=self.prior)

    def refit(self, ballots: Ballots, facts: Facts, skill: Array, prior: Array) -> Refitted:  # noqa: ARG002  fits anew
        if not len(ballots.item):
            return super().refit(ballots, facts, prior, prior)
        plain = self._clear.refit(ballots, facts, prior, prior)
        camps = self._camps(ballots, facts, prior, plain, _MOST_ITERATIONS)
        evidence = normalised(np.log(np.maximum(camps.truth.T, _LEAST)))
        found = prior + ballots.right_and_wrong(np.exp(evidence))
        copies = np.where(ballots.heard, camps.copies, np.nan)
        state = State(ballots.votes(), self._kept(evidence))
        return Refitted(state, found, camps.iterations, camps.converged, copies)

    def foretold(self, rest: Ballots, out: Ballots, facts: Facts, prior: Array) -> Array:
        return self.told_apart(rest, out, facts, prior).chance

    def told_apart(self, rest: Ballots, out: Ballots, facts: Facts, prior: Array) -> "ToldApart":
        """What the rest says of answers that are held out: of a worker's own knowledge, or of the source.

        P(l) = (1 - phi) sum_t p_t P(l | t) + phi sum_s p_s P(l | s).
        """
        camps = self._camps(rest, facts, prior, self._clear.refit(rest, facts, prior, prior), _MOST_ITERATIONS)
        true, said = (belief[out.label, out.item] for belief in (camps.truth, camps.source))
        own, copied = named(true, expected(camps.skill)[out.worker, 0], out.classes), named(said, FAITH, out.classes)
        copies = camps.copies[out.worker]
        chance = np.log((1 - copies) * own + copies * copied)
        return ToldApart(chance, np.where(copies > _COPIER, np.nan, np.log(out.classes * own)))

    def suspected(self, ballots: Ballots, facts: Facts, prior: Array) -> Mask:
        """Who may be a copier, shape (workers,): a quick look, before all is compared on answers that are held out.

        Copiers must explain answers better than one accuracy each does, be it as expected of newcomers or whatever it
        turns out to be, lest mere experts among guessers pass for a camp; the others must know something, or there is
        no second camp; and who agrees with more than three fifths of the crowd is not suspected, nor who is right more
        often than the others where the truth is known.
        """
        plain = self._clear.refit(ballots, facts, prior, prior)
        camps = self._camps(ballots, facts, prior, plain, _QUICK_ITERATIONS)
        heard = ballots.heard
        copiers = heard & (camps.copies > _COPIER)
        some_know = camps.known > _LEAST_KNOWN and copiers.sum() <= _MOST_COPIERS * heard.sum()
        if not some_know or not _explained(ballots, camps, plain):
            return np.zeros_like(copiers)
        free = free_skills(prior)
        explained = _explained(ballots, camps, self._clear.refit(ballots, facts, free, free))
        return copiers & (explained and not _cleared(ballots, with_gold(facts, ballots), camps.copies))

    def _camps(self, ballots: Ballots, facts: Facts, prior: Array, plain: Refitted, most_iterations: int) -> Camps:
        accuracy = self.accuracy(plain.skill)
        heard = ballots.heard
        better = accuracy > np.median(accuracy[heard])
        before = np.ascontiguousarray(self._clear.start(with_gold(facts, ballots), ballots.classes).evidence.T)
        halves = (heard & better, heard & ~better)
        both = [settled(ballots, before, prior, suspected, most_iterations) for suspected in halves]
        return max(both, key=lambda camps: camps.score)


class ToldApart(NamedTuple):
    """How well copying foretells answers that are held out, shape (answers,) each."""

    chance: Array  # the log-probability of the answer
    knowledge: Array  # by how much those who do not copy are foretold better than a guess; NaN of those who do


def free_skills(prior: Array) -> Array:
    """Skills of which nothing is expected, so many as there are of these."""
    return np.tile(FREE, (len(prior), 1))


def _cleared(ballots: Ballots, facts: Facts, copies: Array) -> bool:
    """Whether copiers are right more often than others, where the truth is known and both have answered."""
    if facts.gold is None:
        return False
    truth, copying = facts.gold[ballots.item], copies[ballots.worker]
    known = truth != UNKNOWN
    camps = [weight[known] for weight in (copying, 1 - copying)]
    if not all(camp.sum() >= 1 for camp in camps):
        return False
    copiers, others = (np.average((ballots.label == truth)[known], weights=camp) for camp in camps)
    return bool(copiers > others)


def _explained(ballots: Ballots, camps: Camps, plain: Refitted) -> bool:
    """Whether copiers explain the answers better than a fit in which nobody copies."""
    return camps.score - _score(ballots, plain) > min(_LEAST_GAIN, _ENOUGH_GAIN / len(ballots.item))


def _score(ballots: Ballots, plain: Refitted) -> float:
    """The mean log-chance of an answer given all others, where nobody copies."""
    true = np.exp(plain.state.evidence).ravel()[ballots.cell]
    right, wrong = (without(plain.skill[ballots.worker, each], own) for each, own in enumerate((true, 1 - true)))
    hit = right / (right + wrong)
    is_true, is_not = true / hit, (1 - true) / ((1 - hit) / (ballots.classes - 1))
    return float(np.log(named(is_true / (is_true + is_not), hit, ballots.classes)).mean())
