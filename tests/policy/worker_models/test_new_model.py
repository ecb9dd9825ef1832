"""A new worker model needs one or two methods and no flag: models as a contributor would write them run whole jobs."""

import numpy as np
import pytest

from app.policy.core.belief import Belief, ItemContext, one_more_vote
from app.policy.core.lookahead import Lookahead
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.worker_models import Confusion, WorkerModel
from app.policy.worker_models.inference.counted_votes import CountedVotes
from app.policy.worker_models.inference.true_class import TrueClassModel
from app.simulation.crowds import Crowd, skilled
from app.simulation.simulated_job import SimulatedJob
from tests.policy.worker_models.cases import MODELS


class FixedAccuracy(TrueClassModel):
    """Every worker has an accuracy of .8: one method."""

    kind: str = "fixed-accuracy"

    def likelihood(self, skill, label, classes):  # noqa: ARG002  the same for all workers
        return np.where(label[:, None] == np.arange(classes), 0.8, 0.2 / (classes - 1))


class OldVotesFade(CountedVotes):
    """Every vote lowers the weight of earlier ones by a tenth: one method."""

    kind: str = "old-votes-fade"

    def learn(self, state, context, skill, label):  # noqa: ARG002  votes alone
        return type(state)(one_more_vote(0.9 * state.votes, label), state.model_state), skill


class Doubled(WorkerModel):
    """Every vote counts twice, from the bare interface: three methods."""

    kind: str = "doubled"

    def read(self, state, context):
        return Belief(state.votes, 2 * state.votes, 4 * state.votes.sum(axis=1), 2 * state.votes + 1, context)

    def chances(self, belief, skill):  # noqa: ARG002  the same for all workers
        return belief.alpha / belief.alpha.sum(axis=1, keepdims=True)

    def learn(self, state, context, skill, label):  # noqa: ARG002  votes alone
        return type(state)(one_more_vote(state.votes, label), state.model_state), skill


NEW_MODELS = [FixedAccuracy(), OldVotesFade(), Doubled()]


def policy_with(model, **fields):
    """A job that decides by a model which is not in the union yet."""
    return JobPolicy(labels=("a", "b", "c"), **fields).model_copy(update={"worker_model": model})


@pytest.mark.parametrize("model", NEW_MODELS, ids=lambda model: model.kind)
def test_a_new_model_runs_a_whole_job(model):
    """Items are asked about, answered, refitted on demand and resolved with the right labels."""
    truth = np.arange(30) % 3
    crowd = Crowd(truth, skilled([0.9] * 30, 3))
    job = SimulatedJob(policy_with(model), crowd, np.random.default_rng(3))
    while sum(job.serve(worker) for worker in range(30)):
        pass
    assert not job.job.open.any()
    assert (job.job.label == truth).mean() > 0.9


@pytest.mark.parametrize("model", NEW_MODELS, ids=lambda model: model.kind)
def test_a_new_model_has_one_stage_and_claims_nothing(model):
    """The defaults are those of a model that learns nothing about workers."""
    stages = model.stages(3)
    assert (stages.names, stages.models) == ((model.kind,), (model,))
    assert stages.choose(None, None, None, 0) is None
    assert not model.fits_skills
    assert not model.scores_finished_items
    assert not model.treats_labels_alike
    assert not Engine(policy_with(model)).tells_workers_apart


def test_bayes_with_a_fixed_accuracy_is_exact():
    """Two answers for the first class and one for the second, computed by hand, and the chances of the next answer."""
    model, context = FixedAccuracy(), ItemContext.plain(1)
    state = model.start(context, 3)
    for label in (0, 1, 0):
        state, _ = model.learn(state, context, np.empty((1, 0)), np.array([label]))
    weight = np.array([0.8 * 0.1 * 0.8, 0.1 * 0.8 * 0.1, 0.1 * 0.1 * 0.1])
    belief = model.read(state, context)
    assert belief.posterior[0] == pytest.approx(weight / weight.sum())
    expected = belief.posterior[0] @ np.where(np.eye(3) == 1, 0.8, 0.1)
    assert model.chances(belief, np.empty((1, 0)))[0] == pytest.approx(expected)


class Fitted(FixedAccuracy):
    """A model that overrides `refit` and `score` without setting a flag."""

    def refit(self, ballots, context, skill, prior):  # noqa: ARG002  a stub
        return super().refit(ballots, context, skill, skill)

    def score(self, skill, agreed):  # noqa: ARG002  a stub
        return skill


def test_what_a_model_overrides_cannot_be_overlooked():
    """The service checks these flags before it calls the methods, so the flags follow from what the class defines."""
    assert Fitted().fits_skills
    assert Fitted().scores_finished_items


def check_labels_are_treated_alike(model, seed=7):
    """Labels without votes have equal chances, and an answer has the same effect on each of them."""
    rng, context, classes = np.random.default_rng(seed), ItemContext.plain(20), 5
    parameters = len(model.newcomer(classes))
    state = model.start(context, classes)
    for label in (0, 1, 1):
        skill = rng.uniform(1, 9, (20, parameters))
        state = model.after_answer(state, context, skill, np.full(20, label))
    ahead = Lookahead.of(model, state, context, rng.uniform(1, 9, (20, parameters)))
    swapped = [0, 1, 3, 2, 4]
    assert ahead.chances[:, 2] == pytest.approx(ahead.chances[:, 3])
    after = ahead.after(3).now.posterior
    assert ahead.after(2).now.posterior == pytest.approx(after[:, swapped], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(
    "model", [model for model in MODELS if model.treats_labels_alike], ids=lambda model: model.kind
)
def test_labels_are_treated_alike_where_a_model_says_so(model):
    """Looking ahead for only one of several labels without votes gives the right result for any skill."""
    check_labels_are_treated_alike(model)


class FalseClaim(Confusion):
    """A model with a row per class that claims to treat labels alike."""

    kind: str = "false-claim"
    treats_labels_alike = True


def test_a_false_claim_is_found():
    """The check fails for a model whose claim is false."""
    with pytest.raises(AssertionError):
        check_labels_are_treated_alike(FalseClaim())
