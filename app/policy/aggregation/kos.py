"""Message passing between items and workers, without a prior."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.policy.aggregation.base import Aggregation, MaxIterations, pseudo_answers
from app.policy.core.arrays import Array
from app.policy.core.ballots import UNKNOWN, Ballots, Consensus, first_choice, sum_by

_SILENT = 1e-12  # messages that cancel exactly on paper leave this much in floats


@dataclass(frozen=True)
class Reliability:
    """How reliable the worker of each answer is, judged by the worker's other answers."""

    message: Array  # (answers,)
    iterations: int
    converged: bool


class Kos(Aggregation):
    """Pass messages on the graph of answers (Karger, Oh & Shah, NIPS 2011).

    With A_ij = +1 or -1 the answer of worker j to item i, and y = 1 to begin with,

        x_ij = sum over the other workers of i of A_ij' y_ij',     y_ij = sum over the other items of j of A_i'j x_i'j,

    and the label of i is the sign of sum_j A_ij y_ij. Each round's messages are divided by their root mean square,
    which changes no sign and keeps them finite. The posterior reported is (1 + sum_j A_ij y_ij / sum_j |y_ij|) / 2,
    the share of the weight: not a fitted probability. With more than two classes, each class is compared with all
    others together, and the shares are scaled to sum to 1. The paper starts from y ~ N(1, 1); we start from its mean,
    so that the same answers give the same labels. Where the answers form a tree, the messages fall to zero; then the
    last messages above zero are used, at worst y = 1, which is the majority. A gold item sends its known sign.

    **Do not use it for small crowds, or for crowds in which a few workers do most of the work.** On a handful of items
    the messages may converge to the opposite of the truth, because they are determined only up to a common sign. In
    general they follow the strongest direction of the answers. That is the truth if items and workers meet at random
    and equally often, as the paper assumes. On RTE four workers answered 540 to 800 of the 800 items, mostly with yes,
    and were right in 50 to 58 %. They end up with 91 % of the weight, and KOS gets 49.75 % of the labels right, where a
    plain majority gets 89.7 %. On TEMP it gets 57 %, and the majority 94 %.

    The first item's votes are 0 0 1; without it all three workers agree equally often, so its share is 2/3:

    >>> ballots = Ballots.of(*np.divmod(np.arange(12), 3), [0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1])
    >>> Kos(max_iterations=1).fit(ballots).posterior[0].round(4).tolist()
    [0.6667, 0.3333]
    """

    kind: Literal["kos"] = "kos"
    max_iterations: MaxIterations = 200
    tolerance: Annotated[
        float,
        Field(
            ge=0, le=1, description="Converged once no message changes by more than this; their root mean square is 1"
        ),
    ] = 1e-6

    def fit(self, ballots: Ballots, worker_prior: Array | None = None) -> Consensus:
        # Two classes mirror each other, so one of them is enough.
        sides = range(1) if ballots.classes == 2 else range(ballots.classes)  # noqa: PLR2004
        passed = [self._pass_messages(ballots, side) for side in sides]
        shares = np.stack(
            [_share(ballots, side, each.message) for side, each in zip(sides, passed, strict=True)], axis=1
        )
        posterior = _distribution(shares, ballots)
        agreement = ballots.right_and_wrong(first_choice(posterior))
        return Consensus(
            posterior=posterior,
            informed=ballots.informed,
            right_and_wrong=agreement + pseudo_answers(ballots, worker_prior),
            iterations=max(each.iterations for each in passed),
            converged=all(each.converged for each in passed),
        )

    def _pass_messages(self, ballots: Ballots, side: int) -> Reliability:
        """Pass messages, with `side` as +1 and all other classes as -1, until they converge."""
        sign = _sign(ballots, side)
        reliability = np.ones(len(sign))
        for iteration in range(1, self.max_iterations + 1):
            leaning = _unit(_with_gold(_to_workers(ballots, sign, reliability), ballots, side))
            messages = _unit(_to_items(ballots, sign, leaning))
            if not messages.any():
                return Reliability(reliability, iteration, converged=True)
            # Keep half of the last round: the limit is the same where plain rounds converge. In a small crowd plain
            # rounds may flip all signs each time, and labels must not depend on whether their number is even.
            messages = _unit(messages + reliability)
            moved, reliability = np.abs(messages - reliability).max(), messages
            if moved <= self.tolerance:
                return Reliability(reliability, iteration, converged=True)
        return Reliability(reliability, self.max_iterations, converged=False)


def _sign(ballots: Ballots, side: int) -> Array:
    return np.where(ballots.label == side, 1.0, -1.0)


def _to_workers(ballots: Ballots, sign: Array, reliability: Array) -> Array:
    """x: which way each item leans without the worker's own answer, shape (answers,)."""
    own = sign * reliability
    return sum_by(ballots.item, own, ballots.items)[ballots.item] - own


def _to_items(ballots: Ballots, sign: Array, leaning: Array) -> Array:
    """y: how far each worker agrees with the leanings of all other items, shape (answers,)."""
    own = sign * leaning
    return sum_by(ballots.worker, own, ballots.workers)[ballots.worker] - own


def _with_gold(leaning: Array, ballots: Ballots, side: int) -> Array:
    """Gold items lean to their known side, as strongly as the others do on average."""
    if ballots.gold is None:
        return leaning
    known = ballots.gold[ballots.item]
    usual = float(np.sqrt(np.mean(leaning**2))) if leaning.any() else 1.0
    return np.where(known == UNKNOWN, leaning, np.where(known == side, usual, -usual))


def _unit(message: Array) -> Array:
    """Messages with a root mean square of 1; all zero where they cancel."""
    size = float(np.sqrt(np.mean(message**2))) if len(message) else 0.0
    return message / size if size > _SILENT else np.zeros_like(message)


def _share(ballots: Ballots, side: int, reliability: Array) -> Array:
    """The weight for `side` among all weight on the item, from 0 to 1, shape (items,); one half without any."""
    lean = sum_by(ballots.item, _sign(ballots, side) * reliability, ballots.items)
    weight = sum_by(ballots.item, np.abs(reliability), ballots.items)
    return (1 + np.divide(lean, weight, out=np.zeros_like(lean), where=weight > _SILENT)) / 2


def _distribution(shares: Array, ballots: Ballots) -> Array:
    """Shares as probabilities that sum to 1 on every item, shape (items, classes)."""
    if ballots.classes == 2:  # noqa: PLR2004
        return ballots.clamped(np.concatenate([shares, 1 - shares], axis=1))
    total = shares.sum(axis=1, keepdims=True)
    uniform = np.full_like(shares, 1 / ballots.classes)
    return ballots.clamped(np.divide(shares, total, out=uniform, where=total > _SILENT))
