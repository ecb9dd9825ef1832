"""Figures 1 to 3 of Tran-Thanh et al. (AAMAS 2013): bounds on the error, and what a budget buys by other splits."""

import numpy as np

from app.lab.experiments.finding import Finding, Line, Panel, Row, Setting
from app.policy.belief import Array, IntArray
from app.policy.planning.crowdbudget import expected_errors_at_most, majority_error, theorem_2

TASKS, PRICE, DOUBT, EDGE = 100, 0.6, 0.001, 0.3  # Figure 1


def figure_1(setting: Setting) -> Finding:
    """The two bounds per task at equal prices, as printed, mended, and beside the error itself."""
    answers = np.arange(1, 31)
    budget = answers * PRICE * TASKS
    exponential, printed, mended = (bound(answers) for bound in (_exponential, _pac_as_printed, _pac))
    exact = majority_error(answers, 0.5 + EDGE)
    drawn = _simulated(answers, setting.size(2000, 200) * setting.seeds, np.random.default_rng(1))
    sure = float((1 - DOUBT) ** TASKS)
    free_of_error = int(answers[printed == 0][0])
    at_ten = 9
    rows = (
        Row(
            "B = 600: exponential bound per task",
            "below 0.2",
            float(exponential[at_ten]),
            bool(exponential[at_ten] < 0.2),
        ),
        Row("P that the second bound holds", 0.9047, sure, abs(sure - 0.9047) < 1e-3, 4),
        Row("B = 600: second bound as printed", 0.0, float(printed[at_ten]), bool(printed[at_ten] == 0), 4),
        Row("budget from which it is 0 as printed", 600, free_of_error * PRICE * TASKS, free_of_error == at_ten + 1, 0),
        Row("B = 600: second bound, mended", "not given", float(mended[at_ten])),
        Row("B = 600: the error itself", "not given", float(exact[at_ten]), None, 4),
        Row("B = 660: the error where 0 is promised", 0.0, float(exact[10]), bool(exact[10] == 0), 4),
    )
    lines = {"exponential": exponential, "second, as printed": printed, "second, mended": mended}
    curves = [Line.through(name, budget, each) for name, each in lines.items()]
    curves += [Line.through("the error itself", budget, exact)]
    curves += [Line.through("the same, simulated", budget, drawn)]
    notes = (
        "Eq. 12 loses a factor 1/2, so Theorem 2 as printed is false: at B = 660 it promises no error at all.",
        f"Simulated and exact error differ by at most {float(np.abs(drawn - exact).max()):.4f}.",
    )
    return Finding(rows, (Panel("Error per task", "budget ($)", "error per task", tuple(curves)),), notes)


def _exponential(answers: IntArray) -> Array:
    return np.array([expected_errors_at_most([n], EDGE) for n in answers])


def _pac_as_printed(answers: IntArray) -> Array:
    """Corollary 3: max(0, 1/2 - d sqrt(2n / -ln(beta / 2)))."""
    return np.asarray(np.maximum(0.0, 0.5 - EDGE * np.sqrt(2 * answers / -np.log(DOUBT / 2))))


def _pac(answers: IntArray) -> Array:
    return np.array([theorem_2([n], EDGE, DOUBT) for n in answers])


def _simulated(answers: IntArray, tasks: int, rng: np.random.Generator) -> Array:
    """How often a majority errs among so many tasks, ties by an even coin, shape of `answers`."""
    right = rng.binomial(answers, 0.5 + EDGE, size=(tasks, len(answers)))
    return np.asarray(np.where(2 * right == answers, 0.5, 2 * right < answers).mean(axis=0))
