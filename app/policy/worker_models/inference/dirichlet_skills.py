"""Skills that are distributions: a worker's accuracy, its interval, and an optimistic value of it."""

import numpy as np
from scipy import special

from app.policy.core.arrays import Array
from app.policy.worker_models.base import SkillPrior, WorkerModel
from app.policy.worker_models.inference.source_opinions import opinion_likelihood

_LOW, _HIGH = 0.025, 0.975
_NEARLY_PERFECT = 0.999  # no optimistic accuracy is higher


class DirichletSkills(WorkerModel):
    """Models whose skill is a set of independent Dirichlet rows, one per true class, right answers on the diagonal.

    One accuracy is the single row (right, wrong); the skill is that row unless a model overrides `dirichlets` and
    `packed`. The accuracy of a worker is the mean over the rows.
    """

    prior: SkillPrior = (4.0, 1.0)

    def newcomer(self, classes: int) -> Array:  # noqa: ARG002  one accuracy for all classes
        return np.array(self.prior)

    def dirichlets(self, skill: Array) -> Array:
        """The parameters of each worker's rows, shape (workers, rows, answers); row j is right with answer j."""
        return skill[:, None, :]

    def packed(self, dirichlets: Array) -> Array:
        """The skills that have these rows, shape (workers, parameters): the inverse of `dirichlets`."""
        return dirichlets[:, 0]

    def rows(self, skill: Array) -> Array:
        """The error rates to expect of each worker, shape (workers, rows, answers)."""
        return expected(self.dirichlets(skill))

    def accuracy(self, skill: Array) -> Array:
        right, total = right_and_total(self.dirichlets(skill))
        return np.asarray(np.einsum("ij->i", right / total) / right.shape[1])

    def interval(self, skill: Array) -> Array:
        right, total = right_and_total(self.dirichlets(skill))
        return interval_of_mean(right, total - right)

    def believed(self, shares: Array, skill: Array) -> Array:
        return opinion_likelihood(self.rows(skill[None]), shares)

    def stated_skill(self, accuracy: float, weight: float, classes: int) -> Array | None:
        """Rows with this accuracy, errors spread evenly; the weight is shared by the rows."""
        rows = self.dirichlets(self.newcomer(classes)[None])
        many, answers = rows.shape[1:]
        stated = np.full_like(rows, (1 - accuracy) * weight / many / (answers - 1))
        each = np.arange(many)
        stated[:, each, each] = accuracy * weight / many
        return np.asarray(self.packed(stated)[0])

    def optimistic(self, skill: Array, bonus: float) -> Array:
        rows = self.dirichlets(skill)
        return self.packed(raised(rows, bonus / np.sqrt(np.einsum("ijk->i", rows))))


def expected(dirichlets: Array) -> Array:
    """The expected shares of Dirichlet rows, along the last axis.

    >>> expected(np.array([4.0, 1.0])).tolist()
    [0.8, 0.2]
    """
    return np.asarray(dirichlets / dirichlets.sum(axis=-1, keepdims=True))


def right_and_total(dirichlets: Array) -> tuple[Array, Array]:
    """Right answers and all answers in each row, each (workers, rows)."""
    return np.asarray(np.einsum("ijj->ij", dirichlets[:, :, : dirichlets.shape[1]])), dirichlets.sum(axis=2)


def interval_of_mean(right: Array, wrong: Array) -> Array:
    """The 95 % interval of the mean of independent Beta(right, wrong), both (workers, coins); shape (workers, 2).

        m = mean of the coins' means,    v = sum of the coins' variances / coins^2,    Beta(m S, (1 - m) S),
        S = m (1 - m) / v - 1.

    Exact for one coin: for Beta(1, 1) it is (0.025, 0.975). For several, the Beta with their mean and variance.

    >>> interval_of_mean(np.array([[1.0], [8.0]]), np.array([[1.0], [2.0]])).round(4).tolist()
    [[0.025, 0.975], [0.5175, 0.9719]]
    """
    total = right + wrong
    hit = right / total
    mean = hit.mean(axis=1)
    variance = (hit * (1 - hit) / (total + 1)).sum(axis=1) / right.shape[1] ** 2
    size = mean * (1 - mean) / variance - 1
    ends = [special.betaincinv(mean * size, (1 - mean) * size, end) for end in (_LOW, _HIGH)]
    return np.stack(ends, axis=1)


def raised(dirichlets: Array, gain: Array) -> Array:
    """The rows with the diagonal's share raised by gain[worker], and the same evidence and the same mix of errors.

    Shares stay between 0.001 and 0.999 unless they were beyond that before.

    >>> [raised(np.array([[[6.0, 4.0]]]), np.array([gain])).round(6).tolist() for gain in (0.25, -0.25)]
    [[[[8.5, 1.5]]], [[[3.5, 6.5]]]]
    """
    right, total = right_and_total(dirichlets)
    hit = right / total
    raised_hit = np.clip(hit + gain[:, None], np.minimum(hit, 1 - _NEARLY_PERFECT), np.maximum(hit, _NEARLY_PERFECT))
    errors = np.divide(1 - raised_hit, 1 - hit, out=np.ones_like(hit), where=hit < 1)
    rows: Array = dirichlets * errors[:, :, None]
    each = np.arange(right.shape[1])
    rows[:, each, each] = raised_hit * total
    return rows
