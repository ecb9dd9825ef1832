"""Bayesian softmax regression for items with features, where an answer on one item says something about all."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize, special

from app.policy.core.arrays import Array
from app.policy.core.tuning import TUNED

_MAX_ITERATIONS = 200
_CONVERGED = 1e-5  # slope, where the curvature of the prior alone is 1
_LEAST_LIKELY = 1e-300
_LEAST_CURVATURE = 1e-3  # of an item: noisy answers may leave hardly any
_ENOUGH = 20_000  # items
_ROUNDS = 4  # of estimating the prior variance
_MOST_TIMES = 1e4  # it may be larger or smaller than at the start
_ALIKE = 0.1  # share of the prior variance by which another one makes no difference
_BOUND = 0.25  # curvature of an item's log-likelihood is at most that, by direction of a class against the others


def standardised(numbers: Array) -> Array:
    """The features with mean 0 and deviation 1, and an intercept as the last column; (items, features + 1).

    A constant feature becomes 0: it tells nothing.

    >>> standardised(np.array([[1.0, 7.0], [3.0, 7.0]])).round(9).tolist()
    [[-1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
    """
    found = np.ones((len(numbers), numbers.shape[1] + 1))
    found[:, :-1] = numbers
    columns = found[:, :-1]
    columns /= np.maximum(np.abs(columns).max(axis=0, initial=0), 1e-300)  # so that no square overflows
    columns -= columns.mean(axis=0)
    deviation = columns.std(axis=0)
    columns /= np.where(deviation > TUNED.features.constant, deviation, np.inf)
    return found


def prior_variance(features: int) -> Array:
    """The prior variance of each weight, (features + 1,).

    All features together vary a logit by `spread`, whatever their number is, and so does the intercept.

    >>> prior_variance(4).tolist()
    [1.0, 1.0, 1.0, 1.0, 4.0]
    """
    whole = TUNED.features.spread**2
    return np.append(np.full(features, whole / max(features, 1)), whole)


@dataclass(frozen=True)
class FeatureModel:
    """A belief about the weights w of P(class c of item i) = exp(w_c . x_i) / sum over classes k of exp(w_k . x_i).

    Chen et al. (ICML 2013, section 5) for two classes: theta_i = sigmoid(w . x_i), w ~ N(0, V), by the Laplace method.
    With classes 0 and 1, w_1 - w_0 is their w, and its prior variance is twice that of a class.
    """

    weights: Array  # (features, classes) the mode
    curvature: Array  # (classes,) of an item's log-likelihood in the logit of each class, on average over the items
    directions: Array  # (features, features) in which the features are uncorrelated and the prior has variance 1
    extent: Array  # (features,) the sum of the items' squares in each direction

    @classmethod
    def learned(cls, features: Array, likelihood: Array) -> "FeatureModel":
        """The belief whose prior variance fits the answers as well: features that tell nothing get weights near 0.

            variance <- sum of w^2 / g,    g = (K - 1) sum over directions of t / (1 + t),

        for K classes, with t the curvature by the answers over that of the prior (the evidence, MacKay 1992). The
        features, (items, features), are those of `standardised`; the intercept keeps its variance. Of many items, some
        are enough for the variance.
        """
        every = len(features) // _ENOUGH + 1
        some, said = features[::every], likelihood[::every]
        variance, gram = prior_variance(features.shape[1] - 1), some.T @ some
        first = variance[0]
        model = cls.fit(some, said, variance, gram=gram)
        for _ in range(_ROUNDS):
            against = model.against_prior()
            known = (likelihood.shape[1] - 1) * (against / (1 + against)).sum(axis=0).mean()
            found = (model.weights[:-1] ** 2).sum() / max(known, _LEAST_LIKELY)
            found = float(np.clip(found, first / _MOST_TIMES, first * _MOST_TIMES))
            if abs(found / variance[0] - 1) < _ALIKE:
                break
            variance = np.append(np.full(len(variance) - 1, found), variance[-1])
            model = cls.fit(some, said, variance, gram=gram, near=model)
        return model if every == 1 else cls.fit(features, likelihood, variance, near=model)

    @classmethod
    def fit(
        cls,
        features: Array,
        likelihood: Array,
        variance: Array,
        *,
        gram: Array | None = None,
        near: "FeatureModel | None" = None,
    ) -> "FeatureModel":
        """The belief after the answers on these items; `features` is (items, features), `variance` that of a weight.

            L(w) = sum over items i of log sum over classes c of P_i(c) l_ic  -  sum over w of w^2 / (2 variance),

        where l_ic, `likelihood`, (items, classes), is P(answers on i | class c) up to a factor per item: rows of zeros
        and a one where the class is known. So noisy answers do not make the classes less distinct than they are. The
        mode is found by L-BFGS, in directions in which a bound of the curvature (Böhning 1992) is 1, from 0 or from
        the mode of another model. `gram` is the product of the features with themselves, if it is known.
        """
        gram = features.T @ features if gram is None else gram
        classes, deviation = likelihood.shape[1], np.sqrt(variance)
        extent, vectors = linalg.eigh(gram * np.outer(deviation, deviation))
        extent = np.maximum(extent, 0.0)
        directions = deviation[:, None] * vectors
        lengths = np.sqrt(_BOUND * extent + 1)
        steps = directions / lengths
        said = np.log(np.maximum(likelihood, _LEAST_LIKELY))

        def height(point: Array) -> tuple[float, Array]:
            weights = steps @ point.reshape(-1, classes)
            expected = special.log_softmax(features @ weights, axis=1)
            joint = expected + said
            total = special.logsumexp(joint, axis=1)
            surprise = np.exp(expected) - np.exp(joint - total[:, None])
            pull = weights / variance[:, None]
            slope = steps.T @ (features.T @ surprise + pull)
            return float((weights * pull).sum() / 2 - total.sum()), slope.ravel()

        begun: Array = np.zeros((len(variance), classes)) if near is None else near.weights
        start = (vectors.T @ (begun / deviation[:, None]) * lengths[:, None]).ravel()
        found = optimize.minimize(
            height,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _MAX_ITERATIONS, "gtol": _CONVERGED, "ftol": 0.0},
        )
        weights = steps @ found.x.reshape(-1, classes)
        return cls(weights, _curvature(features @ weights, said), directions, extent)

    def probability(self, features: Array) -> Array:
        """P(class c of item i), shape (items, classes), averaged over the belief about the weights.

            P ~ expit(k z),    k = 1 / sqrt(1 + pi v / 8)    (MacKay 1992),

        where z is the logit of a class against the others and v its variance, with the curvature of the average item
        (exact where all items are as uncertain) and the prior variance of a class against the others.
        """
        expected = special.softmax(features @ self.weights, axis=1)
        spread = (features @ self.directions) ** 2 @ (self._widened / (1 + self.against_prior()))
        logit = special.logit(np.clip(expected, 1e-15, 1 - 1e-15))
        found = special.expit(logit / np.sqrt(1 + np.pi / 8 * spread))
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def against_prior(self) -> Array:
        """The curvature by the answers over that of the prior, by direction and class, shape (features, classes)."""
        return self._widened * np.outer(self.extent, self.curvature)

    @property
    def _widened(self) -> float:
        """The prior variance of a class against the others, K / (K - 1), instead of 1."""
        classes = self.weights.shape[1]
        return float(classes / (classes - 1))


def _curvature(logits: Array, said: Array) -> Array:
    """E p_c (1 - p_c) - E r_c (1 - r_c), with r the probability after the answers (Louis 1982); shape (classes,)."""
    before, after = special.softmax(logits, axis=1), special.softmax(logits + said, axis=1)
    found = (before * (1 - before) - after * (1 - after)).mean(axis=0)
    return np.asarray(np.maximum(found, _LEAST_CURVATURE))
