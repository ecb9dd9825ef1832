"""The third stage of `auto`: one accuracy per worker, except for workers who copy one source, right or wrong."""

from typing import Literal, NamedTuple

import numpy as np

from app.policy.core.arrays import Array, Mask
from app.policy.core.ballots import UNKNOWN, Ballots
from app.policy.core.belief import ItemContext, State
from app.policy.core.tuning import TUNED
from app.policy.worker_models.auto.copier_inference import CopierFit, answer_chance, infer_copiers
from app.policy.worker_models.base import Refitted, with_gold, with_opinions
from app.policy.worker_models.inference.dirichlet_skills import expected
from app.policy.worker_models.inference.error_rate import ErrorRate, OneAccuracy
from app.policy.worker_models.inference.latent_truth import without
from app.policy.worker_models.inference.true_class import log_normalised

_MAX_ITERATIONS, _QUICK_ITERATIONS = 60, 8
_MIN_PROBABILITY = 1e-300


class Copied(ErrorRate):
    """`ErrorRate` where workers may be copiers, whose agreement shows what their source says and not what is true.

    A fit (`infer_copiers`) starts twice, suspecting the better half of the workers (by one accuracy each) and the worse
    half, and keeps the result that predicts each answer better from the others. Skills are those of `ErrorRate` under
    its P(t): between fits a copier is a worker who is right as often as the source.

    Common errors reveal copiers: this is the idea of Dong, Berti-Equille and Srivastava (VLDB 2009). Only the way in
    which workers agree shows which of two groups copies: copiers agree in nearly every answer, other workers as often
    as their knowledge makes them agree. If one half knows everything and the other half shares a misconception, the fit
    confuses the two, unless known classes (gold) show who is right. It was tested only on simulated crowds so far; no
    public set has copiers.
    """

    kind: Literal["copied"] = "copied"

    @property
    def _plain(self) -> OneAccuracy:
        return OneAccuracy(prior=self.prior)

    def refit(self, ballots: Ballots, context: ItemContext, skill: Array, prior: Array) -> Refitted:  # noqa: ARG002  from the prior
        if not len(ballots.item):
            return super().refit(ballots, context, prior, prior)
        plain = self._plain.refit(ballots, context, prior, prior)
        fit = self._copier_fit(ballots, context, prior, plain, _MAX_ITERATIONS)
        log_probability = log_normalised(np.log(np.maximum(fit.truth.T, _MIN_PROBABILITY)))
        found = prior + ballots.right_and_wrong(np.exp(log_probability))
        found = np.where(ballots.heard[:, None], found, plain.skill)  # sources that gave nothing but opinions
        copying_probability = np.where(ballots.heard, fit.copying_probability, np.nan)
        state = State(ballots.votes(), log_probability)
        return Refitted(state, found, fit.iterations, fit.converged, copying_probability)

    def heldout_log_likelihood(self, rest: Ballots, out: Ballots, context: ItemContext, prior: Array) -> Array:
        return self.predicted(rest, out, context, prior).log_likelihood

    def predicted(self, rest: Ballots, out: Ballots, context: ItemContext, prior: Array) -> "CopierPrediction":
        """How likely the answers held `out` are given the `rest`: from a worker's own knowledge, or from the source.

        P(l) = (1 - phi) sum_t p_t P(l | t) + phi sum_s p_s P(l | s).
        """
        plain = self._plain.refit(rest, context, prior, prior)
        fit = self._copier_fit(rest, context, prior, plain, _MAX_ITERATIONS)
        true, said = (belief[out.label, out.item] for belief in (fit.truth, fit.source))
        own = answer_chance(true, expected(fit.skill)[out.worker, 0], out.classes)
        copied = answer_chance(said, TUNED.copiers.fidelity, out.classes)
        phi = fit.copying_probability[out.worker]
        log_likelihood = np.log((1 - phi) * own + phi * copied)
        return CopierPrediction(
            log_likelihood, np.where(phi > TUNED.copiers.copier_from, np.nan, np.log(out.classes * own))
        )

    def suspected(self, ballots: Ballots, context: ItemContext, prior: Array) -> Mask:
        """Who may be a copier, shape (workers,): a quick look before the comparison on held-out answers.

        Copying must explain the answers better than one accuracy per worker does, both with the usual prior and with
        none; otherwise a few experts among guessers would look like copiers. The other workers must know something;
        otherwise there is no second group. At most three fifths of the workers can be suspected, and only if they are
        not right more often than the others where the truth is known.
        """
        plain = self._plain.refit(ballots, context, prior, prior)
        fit = self._copier_fit(ballots, context, prior, plain, _QUICK_ITERATIONS)
        heard = ballots.heard
        copiers = heard & (fit.copying_probability > TUNED.copiers.copier_from)
        enough_others = copiers.sum() <= TUNED.copiers.max_share * heard.sum()
        others_know = fit.knowledge > TUNED.copiers.min_knowledge and enough_others
        if not others_know or not _explains_better(ballots, fit, plain):
            return np.zeros_like(copiers)
        free = free_skills(prior)
        explains = _explains_better(ballots, fit, self._plain.refit(ballots, context, free, free))
        right = _are_right_more_often(ballots, with_gold(context, ballots), fit.copying_probability)
        return copiers & (explains and not right)

    def _copier_fit(
        self, ballots: Ballots, context: ItemContext, prior: Array, plain: Refitted, max_iterations: int
    ) -> CopierFit:
        """The better of two fits, which suspect one half of the workers each."""
        accuracy = self.accuracy(plain.skill)
        heard = ballots.heard
        better = accuracy > np.median(accuracy[heard])
        known = with_opinions(self._plain, with_gold(context, ballots), ballots, plain.skill)
        before = np.ascontiguousarray(self._plain.start(known, ballots.classes).model_state.T)
        halves = (heard & better, heard & ~better)
        both = [infer_copiers(ballots, before, prior, suspected, max_iterations) for suspected in halves]
        return max(both, key=lambda fit: fit.score)


class CopierPrediction(NamedTuple):
    """How well copying predicts held-out answers, shape (answers,) each."""

    log_likelihood: Array
    knowledge: Array  # log-likelihood above that of a guess, of workers who do not copy; NaN of copiers


def free_skills(prior: Array) -> Array:
    """Skills without any prior expectation, one per row of `prior`."""
    return np.tile(TUNED.copiers.no_expectation, (len(prior), 1))


def _are_right_more_often(ballots: Ballots, context: ItemContext, copying_probability: Array) -> bool:
    """Whether copiers are right more often than others where the truth is known and both have answered."""
    if context.gold is None:
        return False
    truth, copying = context.gold[ballots.item], copying_probability[ballots.worker]
    known = truth != UNKNOWN
    groups = [weight[known] for weight in (copying, 1 - copying)]
    if not all(group.sum() >= 1 for group in groups):
        return False
    copiers, others = (np.average((ballots.label == truth)[known], weights=group) for group in groups)
    return bool(copiers > others)


def _explains_better(ballots: Ballots, fit: CopierFit, plain: Refitted) -> bool:
    """Whether copying explains the answers better than a fit without copiers."""
    needed = min(TUNED.copiers.min_gain, TUNED.copiers.enough_gain / len(ballots.item))
    return fit.score - _score(ballots, plain) > needed


def _score(ballots: Ballots, plain: Refitted) -> float:
    """The mean log-likelihood of an answer given all others in a fit without copiers."""
    true = np.exp(plain.state.model_state).ravel()[ballots.cell]
    right, wrong = (without(plain.skill[ballots.worker, each], own) for each, own in enumerate((true, 1 - true)))
    hit = right / (right + wrong)
    is_true, is_not = true / hit, (1 - true) / ((1 - hit) / (ballots.classes - 1))
    return float(np.log(answer_chance(is_true / (is_true + is_not), hit, ballots.classes)).mean())
