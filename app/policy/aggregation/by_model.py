"""Take the label that the worker model believes."""

from typing import ClassVar, Literal

from app.policy.aggregation.base import Aggregation, pseudo_answers
from app.policy.core.arrays import Array
from app.policy.core.ballots import Ballots, Consensus
from app.policy.core.belief import ItemContext
from app.policy.core.policy import EVERY_KIND
from app.policy.quality.fitting import FittedCrowd, fit
from app.policy.worker_models.auto import Auto


class ByModel(Aggregation):
    """Take the most likely class by the job's worker model (after Dawid and Skene 1979).

        argmax_c P(class c is the true one | answers, workers).

    A job does not fit anything for this: it keeps that belief for every item, and every answer and every refit updates
    it. `fit`, which has only the answers, uses the model `auto`.

    >>> votes = Ballots.of(item=[0, 0, 0, 1], worker=[0, 1, 2, 0], label=[1, 1, 0, 0])
    >>> ByModel().fit(votes).labels().tolist()
    [1, 0]
    """

    kind: Literal["model"] = "model"
    answer_kinds: ClassVar[frozenset[str]] = EVERY_KIND

    def fit(self, ballots: Ballots, worker_prior: Array | None = None) -> Consensus:
        model, context = Auto(), ItemContext.plain(ballots.items)
        pseudo = pseudo_answers(ballots, worker_prior)
        prior = model.newcomer(ballots.classes) + pseudo
        found = fit(model, 0, ballots, context, FittedCrowd(prior, prior))
        posterior = ballots.clamped(model.read(found.refitted.state, context).posterior)
        return Consensus(
            posterior=posterior,
            informed=ballots.informed,
            right_and_wrong=ballots.right_and_wrong(posterior) + pseudo,
            iterations=found.refitted.iterations,
            converged=found.refitted.converged,
        )
