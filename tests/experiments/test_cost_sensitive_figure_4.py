"""The least value of an answer at which a crowd pays (Gao et al., SIGMOD 2013, Figure 4)."""

import numpy as np
import pytest
from scipy import special

from app.experiments.cost_sensitive_figure_4 import ALIKE, VARIED, figure_4, least_values
from app.experiments.experiment import Setting

LOSSES = np.linspace(0.0, 400.0, 81)


def test_questions_that_are_all_alike_cost_what_walds_test_costs():
    """With one accuracy p, the best rule stops at a lead of k answers, or asks nobody.

    By the gambler's ruin it errs in 1 / (1 + (p / q)^k) of the questions, after k (1 - 2 error) / (p - q) answers.
    """
    lead, right = np.arange(60), 0.75
    error = 1 / (1 + (right / (1 - right)) ** lead)
    answers = lead * (1 - 2 * error) / (2 * right - 1)
    wald = (np.outer(LOSSES, error) + answers).min(axis=1)
    assert least_values(ALIKE, LOSSES) == pytest.approx(wald, abs=2e-4)


def test_below_four_costs_nobody_is_asked():
    """Theorem 4.4: the first answer raises the accuracy by 1/4, which pays from a loss of 4 on."""
    low = np.array([1.0, 2.0, 4.0])
    for prior in (VARIED, ALIKE):
        assert least_values(prior, low) == pytest.approx(low / 2)
        assert least_values(prior, np.array([4.2]))[0] == pytest.approx(1 + 4.2 / 4)


def test_the_least_value_is_concave_and_never_flatter_than_the_hopeless_share():
    """Its slope is the error that is left, and P(workers are mostly wrong) under B(6, 2) is left in any case."""
    found = least_values(VARIED, LOSSES)
    slope = np.diff(found) / np.diff(LOSSES)
    assert (np.diff(slope) <= 1e-9).all()
    assert slope.min() > special.betainc(6, 2, 0.5)
    assert (found[1:] > least_values(ALIKE, LOSSES)[1:] - 1e-6).all()
    assert found[-1] > 3 * least_values(ALIKE, LOSSES[-1:])[0]


def test_the_figure_agrees_with_the_paper_in_what_the_paper_says(tmp_path):
    finding = figure_4(Setting(tmp_path, seeds=1, quick=True))
    assert [row.agrees for row in finding.rows if row.agrees is not None] == [True, True]
    [panel] = finding.panels
    assert [line.name for line in panel.lines] == ["B(6, 2)", ".75 on all questions", "nobody is asked"]
