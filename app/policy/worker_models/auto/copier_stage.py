"""Decide whether copiers are at work: the third stage of `auto`."""

from dataclasses import replace

import numpy as np

from app.policy.core.arrays import Array, Index
from app.policy.core.ballots import Ballots
from app.policy.core.decision import Reason
from app.policy.core.randomness import uniform
from app.policy.core.tuning import TUNED
from app.policy.worker_models.auto.copied_answers import Copied, free_skills
from app.policy.worker_models.auto.held_out import folds, gain
from app.policy.worker_models.auto.stage_comparison import Contest, StageComparison
from app.policy.worker_models.inference.error_rate import OneAccuracy
from app.policy.worker_models.stages import StageChoice

_STAGE = 2


def choose_copied(contest: Contest, min_answers: int, *, in_force: bool) -> StageChoice | None:
    """The third stage, if copiers are suspected and copying predicts better than every rival; None otherwise.

    The rivals are the other two stages, and one accuracy per worker without any prior expectation. Copying must be
    better by 2.5 standard errors, or by the job's margin if that is more, and workers who do not copy must be predicted
    better than guesses by 1 standard error. Once in force it stays while it is better at all. With more than 200,000
    answers, only those on a random part of the items are used.

    The standard error is that of sums by item, because the models differ in what they conclude about items. With sums
    by worker, copiers would look like workers whom this model does not fit, because every model predicts them well.
    """
    ballots, context, names = sampled(contest.ballots, contest.context.seed), contest.context, contest.names
    if len(ballots.item) < min_answers:
        return None
    contest = replace(contest, ballots=ballots)
    model = Copied(prior=contest.prior)
    suspected = model.suspected(ballots, context, contest.plain)
    if not suspected.any():
        return None
    held = folds(len(ballots.item), context.seed)
    item = np.concatenate([ballots.item[fold] for fold in held])
    rivals = [
        contest.scores_of_plain(held),
        contest.scores_of_rows(held),
        contest.scores(OneAccuracy(prior=contest.prior), free_skills(contest.plain), held),
    ]
    each = [model.predicted(ballots.only(~fold), ballots.only(fold), context, contest.plain) for fold in held]
    scores, knowledge = (np.concatenate(part) for part in zip(*each, strict=True))
    gains = [gain(scores, rival, item) for rival in rivals]
    margin = 0.0 if in_force else max(contest.margin, TUNED.copiers.min_margin)
    closest = min(gains, key=lambda found: found.mean - margin * found.error)
    least = min(margin, TUNED.copiers.knowledge_margin)
    if closest.mean <= margin * closest.error or not _others_know(knowledge, item, least):
        return None
    rival = names[1] if closest is gains[1] else names[0]
    found = StageComparison(closest, [float(part.mean()) for part in (*rivals[:_STAGE], scores)], len(item))
    message = f"{suspected.sum()} of {ballots.heard.sum()} workers seem to copy one source, right or wrong: "
    held_out = dict(zip(names, found.means, strict=True))
    reason = Reason("some-copy", message + found.sentence(rival, names[_STAGE]))
    return StageChoice(_STAGE, held_out, found.answers, reason)


def sampled(ballots: Ballots, seed: int) -> Ballots:
    """All answers, or only those on a random part of the items if fewer are enough to notice copiers."""
    part = uniform(seed, np.arange(ballots.items)) * len(ballots.item) < TUNED.copiers.max_answers
    return ballots if part.all() else ballots.only(part[ballots.item])


def _others_know(knowledge: Array, item: Index, margin: float) -> bool:
    """Whether workers who do not copy are predicted better than guesses: experts among guessers are not copiers.

    A policy asks again where opinions are divided. So guessers who happen to contradict an expert meet on one item more
    often than by chance. They look like a group of their own unless held-out answers show that they are not.
    """
    others = ~np.isnan(knowledge)
    if not others.any():
        return False
    known = gain(knowledge[others], np.zeros(others.sum()), item[others])
    return known.mean > margin * known.error
