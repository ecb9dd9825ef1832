"""Table 2 of Gao et al. (SIGMOD 2013): accuracy of answers and results when questions differ in difficulty."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from app.experiments.experiment import FigureLine, Finding, Panel, Row, Setting, equal_as_printed
from app.policy.core.belief import Array
from app.policy.planning.cost_sensitive import Prior

STATUSES = ((1, 0), (3, 3), (4, 0), (8, 2), (100, 100), (101, 100), (110, 100))
ANSWER, RESULT = "A_Q", "A_R"  # the accuracy of one answer, and of the result
# A number is the accuracy that all questions share, a pair the Beta distribution of it.
PRINTED: dict[tuple[str, float | tuple[int, int]], tuple[float, ...]] = {
    (ANSWER, 0.75): (0.75,) * 7,
    (ANSWER, (6, 2)): (0.75, 0.643, 0.821, 0.762, 0.51, 0.51, 0.513),
    (ANSWER, 0.8): (0.8,) * 7,
    (ANSWER, (8, 2)): (0.8, 0.687, 0.853, 0.79, 0.514, 0.514, 0.52),
    (RESULT, 0.75): (0.75, 0.5, 0.988, 0.999, 0.5, 0.75, 1),
    (RESULT, (6, 2)): (0.75, 0.5, 0.962, 0.953, 0.5, 0.51, 0.591),
    (RESULT, 0.8): (0.8, 0.5, 0.996, 1, 0.5, 0.8, 1),
    (RESULT, (8, 2)): (0.8, 0.5, 0.985, 0.983, 0.5, 0.514, 0.634),
}
_DIGITS = 3


def table_2(setting: Setting) -> Finding:  # noqa: ARG001  nothing is random
    """Both accuracies at all seven statuses, to the printed digits."""
    notes = (
        "A_Q of B(8, 2) at (3, 3) is 0.6875, cut off in the paper.",
        "0.79 at (8, 2) under B(8, 2) is a misprint: Theorem 4.1 gives 0.795.",
    )
    return Finding(tuple(_rows()), (_chart(),), notes)


def found(kind: str, prior: float | tuple[int, int]) -> Array:
    """A row of the table, shape (statuses,)."""
    first, second = np.transpose(STATUSES)
    if isinstance(prior, tuple):
        beta = Prior(*prior)
        return beta.answer_accuracy(first, second) if kind == ANSWER else beta.result_accuracy(first, second)
    return np.full(len(first), prior) if kind == ANSWER else _by_odds(prior, first - second)


def _by_odds(accuracy: float, lead: npt.ArrayLike) -> Array:
    """Where all questions are alike, only the lead counts: each vote of the lead multiplies the odds by p / (1 - p)."""
    return np.asarray(1 / (1 + ((1 - accuracy) / accuracy) ** np.asarray(lead, dtype=np.float64)))


def _rows() -> Iterator[Row]:
    for (kind, prior), printed in PRINTED.items():
        for status, paper, ours in zip(STATUSES, printed, found(kind, prior).tolist(), strict=True):
            name = f"B{prior}" if isinstance(prior, tuple) else f"{prior:.2f} fixed"
            yield Row(f"{kind} of {name} at {status}", paper, ours, equal_as_printed(paper, ours, _DIGITS), _DIGITS)


def _chart() -> Panel:
    """The expected accuracy of the result by the votes for one side, if the other side has two."""
    votes = np.arange(2, 13)
    lines = [
        FigureLine.through(f"B({a}, {b})", votes, Prior(a, b).result_accuracy(votes, 2)) for a, b in ((6, 2), (8, 2))
    ]
    lines += [FigureLine.through(f"{p} fixed", votes, _by_odds(p, votes - 2)) for p in (0.75, 0.8)]
    return Panel("The result's accuracy at (m, 2)", "m", "E[A_R]", tuple(lines))
