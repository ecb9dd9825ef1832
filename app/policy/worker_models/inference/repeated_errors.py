"""How much less two equal wrong answers to one item say than two independent ones.

Labels resemble each other, and questions mislead: who is wrong about an item tends to give the wrong answer that others
gave. So an item has its own distribution over the wrong labels, c ~ Dirichlet(a / (K - 1), ...) with K labels, from
which every wrong answer is drawn. With n_l answers l, and N_t = sum of n_l over l != t of them wrong if the class is t,

    P(next wrong answer is l | t) = (n_l + a / (K - 1)) / (N_t + a),

which is 1 / (K - 1) for the first answer, and the same for any order of the answers (Polya's urn; Johnson, Kotz and
Balakrishnan, Discrete Multivariate Distributions, 1997, chapter 35). With two labels nothing changes, and the
opinions of sources are not counted. The functions here give the factors by which this differs from 1 / (K - 1).
"""

import numpy as np
from scipy.special import gammaln

from app.policy.core.arrays import Array, Index


def factor_of_answer(votes: Array, label: Index, concentration: float) -> Array:
    """By how much answer label[i] to item i is likelier than an independent one, for each true class; (items, classes).

    >>> factor_of_answer(np.array([[2.0, 0.0, 0.0]]), np.array([0]), concentration=3).tolist()
    [[1.0, 1.4, 1.4]]
    """
    classes = votes.shape[1]
    each = np.arange(len(label))
    said = votes[each, label] + concentration / (classes - 1)
    factor = (classes - 1) * said[:, None] / (_wrong(votes) + concentration)
    factor[each, label] = 1.0
    return np.asarray(factor)


def log_factor(votes: Array, concentration: float) -> Array:
    """The logarithm of the factors of all answers of each item together, shape (items, classes).

    >>> answers = np.array([[2.0, 1.0, 0.0]])
    >>> one_by_one = np.prod([factor_of_answer(np.array([before]), np.array([label]), 3.0)
    ...                       for before, label in (([0, 0, 0], 0), ([1, 0, 0], 1), ([1, 1, 0], 0))], axis=0)
    >>> np.allclose(np.exp(log_factor(answers, 3.0)), one_by_one)
    True
    """
    classes = votes.shape[1]
    share, wrong = concentration / (classes - 1), _wrong(votes)
    said = gammaln(votes + share) - gammaln(share)
    among_wrong = said.sum(axis=1, keepdims=True) - said
    together = gammaln(concentration) - gammaln(wrong + concentration)
    return np.asarray(among_wrong + together + wrong * np.log(classes - 1))


def log_factor_of_more(votes: Array, label: Index, more: Array, concentration: float) -> Array:
    """The logarithm of the factors of more[*, i] answers label[i] on top of votes[i], shape (*, items, classes)."""
    classes, each = votes.shape[1], np.arange(len(label))
    share = concentration / (classes - 1)
    said, wrong = votes[each, label], _wrong(votes).astype(np.intp)
    gained = gammaln(said + more + share) - gammaln(said + share) + more * np.log(classes - 1)
    # Looked up: with many labels, that is ten times faster.
    log_gamma = gammaln(np.arange(wrong.max(initial=0) + more.max(initial=0) + 1) + concentration)
    found = gained[..., None] - log_gamma[wrong + more.astype(np.intp)[..., None]] + log_gamma[wrong]
    found[..., each, label] = 0.0
    return np.asarray(found)


def chances_of_wrong(votes: Array, posterior: Array, concentration: float) -> tuple[Array, Array]:
    """What turns P(t) and independent errors into the chances of the next answer, shape (items, classes) each.

    P(next is l, and wrong) = said_l * sum over t != l of weight_t * P(l | t, independent).
    """
    classes = votes.shape[1]
    said = (classes - 1) * votes + concentration
    return said, posterior / (_wrong(votes) + concentration)


def _wrong(votes: Array) -> Array:
    """How many answers to each item are wrong if the class is t, shape (items, classes)."""
    return np.asarray(votes.sum(axis=1, keepdims=True) - votes)
