"""How much less two equal wrong answers to one item say than two independent ones.

Labels resemble each other, and questions mislead: who is wrong about an item tends to give the wrong answer that others
gave. So an item has its own distribution over the wrong labels, c ~ Dirichlet(a / (K - 1), ...) with K labels, from
which every wrong answer is drawn. With n_l answers l, and N_t = sum of n_l over l != t of them wrong if the class is t,

    P(next wrong answer is l | t) = (n_l + a / (K - 1)) / (N_t + a),

which is 1 / (K - 1) for the first answer, and the same for any order of the answers (Polya's urn; Johnson, Kotz and
Balakrishnan, Discrete Multivariate Distributions, 1997, chapter 35). With two labels nothing changes, and the
opinions of sources are not counted. The functions here give the factors by which this differs from 1 / (K - 1).

Where some wrong answers are likelier than others, b_tl of the wrong answers if the class is t, each starts with a b_tl
instead of a / (K - 1), and the factors say by how much this differs from b_tl (`share`).
"""

import numpy as np
from scipy.special import gammaln

from app.policy.core.arrays import Array, Index


def factor_of_answer(votes: Array, label: Index, concentration: float, share: Array | None = None) -> Array:
    """By how much answer label[i] to item i is likelier than an independent one, for each true class; (items, classes).

    `share`, (items, classes), is how likely a wrong answer is this one; without it, all are equally likely.

    >>> factor_of_answer(np.array([[2.0, 0.0, 0.0]]), np.array([0]), concentration=3).tolist()
    [[1.0, 1.4, 1.4]]
    """
    each = np.arange(len(label))
    expected = 1 / (votes.shape[1] - 1) if share is None else share
    factor = (votes[each, label][:, None] / expected + concentration) / (_wrong(votes) + concentration)
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


def log_factor_where_unequal(votes: Array, errors: Array, concentration: float) -> Array:
    """The same where a wrong answer is l with probability errors[t, l] if the class is t; the diagonal is ignored.

    >>> answers, even = np.array([[2.0, 1.0, 0.0]]), np.full((3, 3), 1 / 2)
    >>> np.allclose(log_factor_where_unequal(answers, even, 3.0), log_factor(answers, 3.0))
    True
    """
    wrong, found = _wrong(votes), np.empty_like(votes)
    for truth, others in enumerate(~np.eye(votes.shape[1], dtype=bool)):
        said, share = votes[:, others], errors[truth, others]
        each = gammaln(said + concentration * share) - gammaln(concentration * share) - said * np.log(share)
        found[:, truth] = each.sum(axis=1)
    return np.asarray(found + gammaln(concentration) - gammaln(wrong + concentration))


def log_factor_of_more(
    votes: Array, label: Index, more: Array, concentration: float, share: Array | None = None
) -> Array:
    """The logarithm of the factors of more[*, i] answers label[i] on top of votes[i], shape (*, items, classes).

    `share`, (items, classes), is how likely a wrong answer is label[i]; without it, all are equally likely.
    """
    classes, each = votes.shape[1], np.arange(len(label))
    expected = np.full((1, 1), 1 / (classes - 1)) if share is None else share
    said, wrong = votes[each, label][:, None] + concentration * expected, _wrong(votes).astype(np.intp)
    further = more[..., None]
    gained = gammaln(said + further) - gammaln(said) - further * np.log(expected)
    # Looked up: with many labels, that is ten times faster.
    log_gamma = gammaln(np.arange(wrong.max(initial=0) + more.max(initial=0) + 1) + concentration)
    found = gained - log_gamma[wrong + further.astype(np.intp)] + log_gamma[wrong]
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
