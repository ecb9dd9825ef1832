"""Figure 4 of Gao et al. (SIGMOD 2013): the least value of an answer at which it pays to ask a crowd."""

from functools import partial

import numpy as np
from scipy import special

from app.experiments.experiment import FigureLine, Finding, Panel, Row, Setting, yes_or_no
from app.policy.core.belief import Array
from app.policy.planning.cost_sensitive import Prior, best_strategy

VARIED = Prior(6, 2)
ALIKE = Prior(750_000, 250_000)  # a deviation of .0004: next to one accuracy of .75 for all questions
VARIED_NAME, ALIKE_NAME, GUESS = "B(6, 2)", ".75 on all questions", "nobody is asked"
FURTHEST = 200.0  # loss, in costs of an answer
PRINTED = (10.0, 20.0, 50.0, 100.0, 200.0)
_ROUNDING = 1e-6  # so large a prior cancels to this


def least_values(prior: Prior, losses: Array) -> Array:
    """V - P(0, 0) = (1 - E[A_R]) L + C, what a question costs by the best strategy for each loss, shape (losses,).

    A question is worth asking about if an answer to it is worth more.

    >>> least_values(VARIED, np.array([4.0, 100.0])).round(2).tolist()  # at a loss of 4 nobody is asked
    [2.0, 16.67]
    """
    return np.array([-best_strategy.__wrapped__(prior, loss).profit(0.0) for loss in losses.tolist()])


def figure_4(setting: Setting) -> Finding:
    """The least value by loss: questions of varied difficulty, and questions that are all alike."""
    setting.report("the best strategy for each loss under two priors")
    losses = np.linspace(0.0, FURTHEST, setting.size(41, 21))
    varied, alike = least_values(VARIED, losses), least_values(ALIKE, losses)
    at = partial(np.interp, xp=losses)
    unsettled = float(special.betainc(VARIED.a, VARIED.b, 0.5))
    steepest = float(np.diff(varied)[-1] / np.diff(losses)[-1])
    rows = (
        *(
            Row(f"loss {loss:g}: least value, {name}", "not given", float(at(loss, fp=found)), None, 2)
            for loss in PRINTED
            for name, found in ((VARIED_NAME, varied), (ALIKE_NAME, alike))
        ),
        Row("a higher loss needs a higher value", "yes", *yes_or_no((np.diff(varied) > 0).all())),
        Row("ideal questions need less", "yes", *yes_or_no((alike <= varied + _ROUNDING).all())),
        Row(f"loss {FURTHEST:g}: further value per loss, {VARIED_NAME}", "not given", steepest, None, 4),
        Row("... and where workers are asked without end", "not given", unsettled, None, 4),
    )
    lines = ((VARIED_NAME, varied), (ALIKE_NAME, alike), (GUESS, losses / 2))
    notes = (
        "Figure 4 is a drawing, and the text gives no number of it. Money is in costs of an answer, C_Q.",
        "P(0, 0) is that of Algorithm 1 with the cost of an answer counted once; as printed, it counts twice.",
    )
    shown = tuple(_below(name, losses, found, 1.1 * float(varied.max())) for name, found in lines)
    return Finding(
        rows, (Panel("A crowd pays above its line", "loss of a wrong answer", "value of an answer", shown),), notes
    )


def _below(name: str, losses: Array, found: Array, top: float) -> FigureLine:
    """The part of a curve that a chart with this top shows."""
    return FigureLine.through(name, losses, np.where(found <= top, found, np.nan))
