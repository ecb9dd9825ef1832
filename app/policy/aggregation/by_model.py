"""What the worker model believes."""

from typing import Literal

from app.policy.aggregation.ballots import Ballots, Consensus
from app.policy.aggregation.base import Aggregation, pseudo_answers
from app.policy.belief import Array, Facts


class ByModel(Aggregation):
    """The likeliest class by the belief that the job's worker model has of the item (after Dawid and Skene 1979).

        argmax_c P(class c is the true one | answers, workers).

    In a job nothing is fitted for it: items hold that belief, and every answer and every refit moves it. On answers
    alone, `fit` takes the model `auto`: it chooses between one accuracy and a confusion matrix per worker, and fits it.

    >>> votes = Ballots.of(item=[0, 0, 0, 1], worker=[0, 1, 2, 0], label=[1, 1, 0, 0])
    >>> ByModel().fit(votes).labels().tolist()
    [1, 0]
    """

    kind: Literal["model"] = "model"

    def fit(self, ballots: Ballots, worker_prior: Array | None = None) -> Consensus:
        from app.policy.fitting import Crowd, fit  # noqa: PLC0415  worker models read ballots, so they come later
        from app.policy.workers.auto import Auto  # noqa: PLC0415  same

        model, facts = Auto(), Facts.plain(ballots.items)
        pseudo = pseudo_answers(ballots, worker_prior)
        prior = model.newcomer(ballots.classes) + pseudo
        found = fit(model, 0, ballots, facts, Crowd(prior, prior))
        posterior = ballots.clamped(model.read(found.refitted.state, facts).posterior)
        return Consensus(
            posterior=posterior,
            informed=ballots.informed,
            right_and_wrong=ballots.right_and_wrong(posterior) + pseudo,
            iterations=found.refitted.iterations,
            converged=found.refitted.converged,
        )
