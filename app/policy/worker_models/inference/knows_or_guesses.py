"""Workers who know or guess, for labels in order: who knows errs to a neighbour, who guesses may say anything."""

from typing import ClassVar, NamedTuple

import numpy as np
from scipy import special

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.ballots import Ballots, sum_by
from app.policy.core.belief import Belief, ItemContext, State
from app.policy.core.tuning import TUNED
from app.policy.worker_models.inference.latent_truth import LatentTruth, share_of_crowd, without
from app.policy.worker_models.inference.repeated_errors import chances_of_wrong, log_factor_where_unequal
from app.policy.worker_models.inference.steps_of_errors import (
    errors_by_steps,
    labels_at,
    steps_between,
    weights_of_steps,
)

_ENDS = np.array([0.025, 0.975])
_LEAST, _MOST = 0.001, 0.999  # of a share that is set to reach an accuracy
_FIRST = 3  # of the weights of steps in a skill


class _OrderSkills(NamedTuple):
    """What skills are made of; row i of every array is worker i."""

    knows: Array  # (workers, 1) how often the worker knows the answer
    sure: Array  # (workers, 1) how often a worker who knows is right
    steps: Array  # (workers, labels - 1) weight of an error by its steps
    guesses: Array  # (workers, labels) how often a guess is each label

    def known(self, label: Index) -> Array:
        """P(label[a] | true class, worker a knows), shape (answers, labels)."""
        labels = self.guesses.shape[1]
        away = steps_between(labels)[label]
        weight = np.take_along_axis(self.steps, np.maximum(away - 1, 0), axis=1)
        return np.where(away == 0, self.sure, (1 - self.sure) * weight / (self.steps @ labels_at(labels).T))

    def rows(self, which: Index) -> "_OrderSkills":
        return _OrderSkills(*(each[which] for each in self))

    def guessed(self, label: Index) -> Array:
        """P(label[a] | worker a guesses), shape (answers, 1)."""
        return np.take_along_axis(self.guesses, label[:, None], axis=1)

    @property
    def right(self) -> Array:
        """P(answer is right | true class), shape (workers, labels)."""
        return self.knows * self.sure + (1 - self.knows) * self.guesses


class KnowsOrGuesses(LatentTruth):
    """A worker knows the answer, and may miss it by some steps, or guesses; for labels in order, online and refit.

        P(l | t) = k S(l | t) + (1 - k) g_l,    S(t | t) = s,    S(l | t) = (1 - s) w_|l - t| / Z_t,

    with Z_t from `steps_of_errors`. k ~ Beta is the worker's own. How sure those are who know, s, how far they err, w,
    and which labels guesses favour, g, are learned from the crowd in a refit, as far as its answers say more than an
    expectation: s = .9, a quarter as many errors with every further step, all labels alike in a guess.

    So a wrong answer says much about its worker where it is far from the truth, and little where it is near: with one
    accuracy per worker both would count alike. An accuracy is k s + (1 - k) / K. With equal w and g it is `ErrorRate`.

    A skill is the row (known, guessed answers; s; w_1, ..., w_K-1; g_1, ..., g_K). Only the first two numbers are the
    worker's own and grow, by r and 1 - r with every answer, r = sum over t of P(t) k S(l | t) / P(l | t). The others
    are those of the crowd at the last refit. A worker of whom something is known beforehand keeps all of what is known.

    What is expected counts in proportion to the answers: whether answers of a common label are knowledge or guesses,
    answers alone hardly show, however many they are.

    The answer next to the truth is likelier than the far end, where a new worker of five labels is right with .8:

    >>> class Model(KnowsOrGuesses): kind: str = "knows-or-guesses"
    >>> Model().rows(Model().newcomer(5)[None])[0].round(3).tolist()[0]
    [0.8, 0.093, 0.045, 0.033, 0.03]
    """

    learns_newcomers: ClassVar[bool] = True
    learns_errors: ClassVar[bool] = True
    treats_labels_alike: ClassVar[bool] = False
    shares_held: ClassVar[float] = TUNED.stages.shares_held
    spread_of_errors: ClassVar[float] = TUNED.order.spread_of_errors

    def newcomer(self, classes: int) -> Array:
        right, wrong = self.prior
        return self._of_accuracy(right / (right + wrong), right + wrong, classes)

    def stated_skill(self, accuracy: float, weight: float, classes: int) -> Array | None:
        return self._of_accuracy(accuracy, weight, classes)

    def _of_accuracy(self, accuracy: float, answers: float, classes: int) -> Array:
        """The skill of a worker of this accuracy, with what is expected of crowds, worth so many answers."""
        tuned = TUNED.order
        steps = tuned.decay ** np.arange(classes - 1)
        guesses = np.full(classes, 1 / classes)
        row = np.concatenate([[answers, 0.0, tuned.sure], steps / steps.sum(), guesses])
        return np.asarray(_with_accuracy(row[None], np.array([accuracy]))[0])

    def accuracy(self, skill: Array) -> Array:
        return np.asarray(_accuracy(_parts(skill).knows, skill)[:, 0])

    def interval(self, skill: Array) -> Array:
        return _accuracy(np.asarray(special.betaincinv(skill[:, :1], skill[:, 1:2], _ENDS), dtype=np.float64), skill)

    def optimistic(self, skill: Array, bonus: float) -> Array:
        return _with_accuracy(skill, self.accuracy(skill) + bonus / np.sqrt(skill[:, :2].sum(axis=1)))

    def rows(self, skill: Array) -> Array:
        classes = _classes(skill)
        return np.stack([self.likelihood(skill, np.full(len(skill), each), classes) for each in range(classes)], axis=2)

    def likelihood(self, skill: Array, label: Index, classes: int) -> Array:  # noqa: ARG002  the skill shows it
        parts = _parts(skill)
        return parts.knows * parts.known(label) + (1 - parts.knows) * parts.guessed(label)

    def answer_probability(self, rows: Array, worker: Index, label: Index, classes: int) -> Array:  # noqa: ARG002  one row each
        return np.asarray(rows[worker, :, label])

    def share_of_wrong(self, skill: Array, likelihood: Array) -> Array:
        return np.asarray(likelihood / (1 - _parts(skill).right))

    def repeated(self, votes: Array, newcomer: Array) -> Array:
        rows = self.rows(newcomer[None])[0]
        return log_factor_where_unequal(votes, rows / (1 - rows.diagonal()[:, None]), self.spread_of_errors)

    def chances(self, belief: Belief, skill: Array) -> Array:
        """P(right) P(t) + the errors of an urn that starts with the worker's own, by t."""
        one_worker = not skill.strides[0]
        rows = self.rows(skill[:1] if one_worker else skill)
        right, votes, posterior = np.einsum("ijj->ij", rows), belief.votes, belief.posterior
        if not self.errors_repeat(votes.shape[1]):
            return np.asarray((posterior[:, None] @ rows)[:, 0])
        _, weight = chances_of_wrong(votes, posterior, self.spread_of_errors)
        again, habit = weight * (1 - right), (weight[:, None] @ rows)[:, 0] - weight * right
        wrong = votes * (again.sum(axis=1, keepdims=True) - again) + self.spread_of_errors * habit
        return np.asarray(posterior * right + wrong)

    def learn(self, state: State, context: ItemContext, skill: Array, label: Index) -> tuple[State, Array]:
        after, learned = self.after_answer(state, context, skill, label), skill.copy()
        parts = _parts(skill)
        known = _knew(parts, parts.known(label), label, np.exp(after.model_state))
        learned[:, :2] += np.stack([known, 1 - known], axis=1)
        return after, learned

    def taught_by_opinions(self, skill: Array, shares: Array, posterior: Array) -> Array:
        parts = _parts(skill)
        known, guessed = np.zeros((2, *posterior.shape))
        for label, share in enumerate(shares.T[:, :, None]):
            meant = np.full(len(skill), label)
            known += share * parts.knows * parts.known(meant)
            guessed += share * (1 - parts.knows) * parts.guessed(meant)
        knows = (posterior * known / (known + guessed)).sum(axis=1)
        taught = np.zeros_like(skill)
        taught[:, :2] = np.stack([knows, 1 - knows], axis=1)
        return taught

    def sweep(self, skill: Array, posterior: Array, prior: Array, ballots: Ballots) -> tuple[Array, Array]:
        who, label = ballots.worker, ballots.label
        parts = _parts(skill).rows(who)
        if_known, if_guessed = parts.known(label), parts.guessed(label)
        known = _knew(parts, if_known, label, posterior[ballots.item])
        found = prior.copy()
        for each, own in enumerate((known, 1 - known)):
            found[:, each] += sum_by(who, own, ballots.workers)
        knows, guesses = (without(found[who, each], own) for each, own in enumerate((known, 1 - known)))
        share = (knows / (knows + guesses))[:, None]
        likely = np.log(share * if_known + (1 - share) * if_guessed)
        return found, np.stack([sum_by(ballots.item, each, ballots.items) for each in likely.T], axis=1)

    def newcomer_of_crowd(self, skill: Array, posterior: Array, ballots: Ballots, unknown: Mask, new: Mask) -> Array:
        """The skill of a new worker of this crowd: how often such workers know, and how all who know and guess answer.

        How often they know is estimated as accuracies are with one accuracy per worker; the rest from the answers on
        items with two or more, beside answers that are as expected, in proportion to theirs.
        """
        tuned, before, classes = TUNED.order, TUNED.newcomers, ballots.classes
        compared = ((ballots.votes().sum(axis=1) >= tuned.min_answers) & unknown)[ballots.item]
        who, label = ballots.worker[compared], ballots.label[compared]
        parts = _parts(skill).rows(who)
        each = posterior[ballots.item[compared]] * _if_answered(parts, parts.known(label), label)
        knows = each.sum(axis=1)
        made = np.stack([np.bincount(label, of_truth, classes) for of_truth in each.T])
        found = self._of_accuracy(before.accuracy, sum(self.prior), classes)
        sure, credit = found[2], found[:2].sum()
        answers, known = (sum_by(who, each, ballots.workers)[new] for each in (np.ones(len(label)), knows))
        share = share_of_crowd(known, answers, found[0] / credit, credit)
        share = min(max(share, before.least_knowledge), before.highest_accuracy)
        held = max(len(label), 1)
        right, errors = np.trace(made), made - np.diag(made.diagonal())
        found[:2] = credit * share, credit * (1 - share)
        found[2] = (held * tuned.known * sure + right) / (held * tuned.known + made.sum())
        expected = errors_by_steps(found[_FIRST : _FIRST + classes - 1]) / classes
        found[_FIRST : _FIRST + classes - 1] = weights_of_steps(errors + held * tuned.errors * expected)
        guesses = np.bincount(label, 1 - knows, classes) + held * tuned.guesses / classes
        found[-classes:] = guesses / guesses.sum()
        return found


def _classes(skill: Array) -> int:
    """Between how many labels workers of these skills choose."""
    return int(skill.shape[1] - 2) // 2


def _parts(skill: Array) -> _OrderSkills:
    classes = _classes(skill)
    guesses = skill[:, -classes:]
    return _OrderSkills(
        knows=skill[:, :1] / skill[:, :2].sum(axis=1, keepdims=True),
        sure=np.minimum(skill[:, 2:3], _MOST),
        steps=skill[:, _FIRST : _FIRST + classes - 1],
        guesses=guesses / guesses.sum(axis=1, keepdims=True),
    )


def _if_answered(parts: _OrderSkills, if_known: Array, label: Index) -> Array:
    """How likely worker a knew who gave label[a], if it is the true class, shape (answers, classes)."""
    known = parts.knows * if_known
    return np.asarray(known / (known + (1 - parts.knows) * parts.guessed(label)))


def _knew(parts: _OrderSkills, if_known: Array, label: Index, truth: Array) -> Array:
    """The same on the whole, with each true class as likely as `truth`, (answers, classes), says; shape (answers,)."""
    return np.asarray((truth * _if_answered(parts, if_known, label)).sum(axis=1))


def _accuracy(knows: Array, skill: Array) -> Array:
    """How often a worker is right who knows so often, shape (workers, *), by the rest of the skill."""
    chance = 1 / _classes(skill)
    return np.asarray(chance + knows * (np.minimum(skill[:, 2:3], _MOST) - chance))


def _with_accuracy(skill: Array, accuracy: Array) -> Array:
    """The skills with this accuracy, shape (workers,), as far as they can have it, and the same evidence.

    Who is more accurate than those who know always knows, and is surer than they are.
    """
    found, chance = skill.copy(), 1 / _classes(skill)
    sure = np.minimum(skill[:, 2], _MOST)
    knows = np.clip((accuracy - chance) / np.maximum(sure - chance, _LEAST), _LEAST, _MOST)
    evidence = skill[:, :2].sum(axis=1)
    found[:, 0], found[:, 1] = evidence * knows, evidence * (1 - knows)
    found[:, 2] = np.clip((accuracy - (1 - knows) * chance) / knows, chance, _MOST)
    return found
