"""Table 3 of Gao et al. (SIGMOD 2013): HITs with many questions, some of which are already decided."""

from collections import deque
from dataclasses import replace

import numpy as np

from app.experiments.experiment import FigureLine, Finding, Panel, Row, Setting, equal_as_printed
from app.policy.allocation import Dispatch
from app.policy.core.belief import IntArray, ItemContext, State
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.requirements import Profit
from app.policy.worker_models import Anonymous

QUESTIONS = 400
MOST_ANSWERS = 50  # per question (section 6.1)
SIZES = (400, 200, 100, 50, 20, 10)
PRINTED = {
    "dispatcher": (48.20, 88.40, 94.60, 98.40, 99.50, 99.80),
    "random": (48.20, 77.50, 87.30, 93.60, 96.70, 98.40),
}
SECONDS = dict(zip(SIZES, (2850, 1472, 765, 393, 189, 113), strict=True))  # that a HIT takes, as printed
PRINTED_COST = (0.396, 0.409, 0.425, 0.437, 0.526, 0.627)  # cents per question
PRINTED_EFFECTIVE = (0.822, 0.463, 0.449, 0.444, 0.529, 0.628)  # cents per question that was still open
LOSS = 100.0  # in answers
AT_ONCE = 7.0  # HITs of 400 questions that are out, chosen so that their share is as in the paper, 48 %


def engine(loss: float = LOSS) -> Engine:
    """Stop when another answer does not pay; dispatch where most answers are expected."""
    return Engine(
        JobPolicy(
            labels=("0", "1"),
            requirement=Profit(value=loss, loss=loss),
            allocation=Dispatch(),
            worker_model=Anonymous(),
            max_labels=MOST_ANSWERS,
            max_votes_per_label=None,
        )
    )


def effective(size: int, *, dispatched: bool, seed: int, at_once: float = AT_ONCE, loss: float = LOSS) -> float:
    """The share of answers whose question is still open when they arrive, in HITs of `size` questions.

    Workers arrive at random times and take a HIT of open questions, those with the highest priority or random ones.
    They hand it in when all of it is finished, which takes as long as in the paper. Answers on questions that were
    decided in the meantime are wasted. With HITs of 400 questions, `at_once` HITs are out on average. The job ends when
    all questions are decided.
    """
    rng = np.random.default_rng(seed)
    right = rng.beta(6, 2, QUESTIONS)
    judge, votes, out = engine(loss), np.zeros((QUESTIONS, 2)), np.zeros(QUESTIONS)
    going = np.arange(QUESTIONS)
    comes = 0.0  # when the next worker arrives, in seconds
    held: deque[tuple[float, IntArray]] = deque()  # HITs by the time when they are handed in
    given = in_time = 0
    while len(going) or held:
        if len(going) and (not held or comes < held[0][0]):
            context = replace(ItemContext.plain(QUESTIONS), open_assignments=out).rows(going)
            worth = judge.judge(State(votes[going], np.empty((len(going), 0))), context).priority
            lot = rng.random(len(going))
            hit = going[np.lexsort((lot, -worth) if dispatched else (lot,))[:size]]
            out[hit] += 1
            held.append((comes + SECONDS[size], hit))
            comes += rng.exponential(SECONDS[QUESTIONS] / at_once)
            continue
        _, hit = held.popleft()
        out[hit] -= 1
        valid = hit[np.isin(hit, going)]
        votes[valid, (rng.random(len(valid)) < right[valid]).astype(np.int64)] += 1
        given, in_time = given + len(hit), in_time + len(valid)
        judgement = judge.judge(State(votes[going], np.empty((len(going), 0))), ItemContext.plain(len(going)))
        going = going[~judgement.closed]
    return in_time / given


def table_3(setting: Setting) -> Finding:
    """The share of open questions by the size of a HIT, dispatched and at random."""
    found: dict[str, list[float]] = {name: [] for name in PRINTED}
    for size in SIZES:
        setting.report(f"HITs of {size} questions: {setting.seeds} jobs each way")
        for name, line in found.items():
            shares = [effective(size, dispatched=name == "dispatcher", seed=seed) for seed in range(setting.seeds)]
            line.append(100 * float(np.mean(shares)))
    rows = [
        Row(f"{name}, {size} questions in a HIT (%)", printed, ours, None, 1)
        for name, line in PRINTED.items()
        for size, printed, ours in zip(SIZES, line, found[name], strict=True)
    ]
    theirs, ours = (np.subtract(table["dispatcher"], table["random"]) for table in (PRINTED, found))
    rows += [
        Row("largest gain by dispatching (points)", float(theirs.max()), float(ours.max()), None, 1),
        Row("mean gain by dispatching (points)", float(theirs.mean()), float(ours.mean()), None, 2),
        Row("dispatching is never worse", "yes", "yes" if (ours >= -0.05).all() else "no", bool((ours >= -0.05).all())),
    ]
    rows += [
        Row(f"cents per effective question, {size} in a HIT", printed, each, equal_as_printed(printed, each, 3))
        for size, printed, each in zip(
            SIZES, PRINTED_EFFECTIVE, np.divide(PRINTED_COST, PRINTED["dispatcher"]) * 100, strict=True
        )
    ]
    lines = [FigureLine.through(f"{name}, paper", SIZES, line) for name, line in PRINTED.items()]
    lines += [FigureLine.through(f"{name}, ours", SIZES, line) for name, line in found.items()]
    notes = (
        f"Questions of B(6, 2), a loss of {LOSS:g} answers, {MOST_ANSWERS} answers at most; the paper names no loss.",
        f"{AT_ONCE:g} HITs of 400 are out at once, chosen to match that column; the rest follows from the times.",
        "The last row of the table is recomputed from its own rows of cost and share.",
    )
    return Finding(
        tuple(rows),
        (Panel("Open questions in a HIT", "questions in a HIT", "% of its questions", tuple(lines)),),
        notes,
    )
