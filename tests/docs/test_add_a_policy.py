"""The policies of docs/how-to/add-a-policy.md keep the contracts of their families and run a job."""

from itertools import product
from typing import Annotated, Any, get_args

import numpy as np
import pytest
from pydantic import Field, TypeAdapter

from app.policy.aggregation import AnyAggregation
from app.policy.allocation import AnyAllocation
from app.policy.core.ballots import Ballots
from app.policy.core.belief import Belief, ItemContext, State
from app.policy.core.lookahead import Lookahead
from app.policy.requirements import AnyRequirement
from app.policy.worker_choice import AnyWorkerChoice
from app.policy.worker_choice.base import CandidateWorkers
from app.policy.worker_models import Anonymous, AnyWorkerModel
from tests.docs.pages import PROJECT, blocks_of
from tests.policy.allocation.checks import check_uses

PAGE = PROJECT / "docs" / "how-to" / "add-a-policy.md"
FAMILIES = {
    "Lead": AnyRequirement,
    "Disputed": AnyAllocation,
    "FixedAccuracy": AnyWorkerModel,
    "Cheapest": AnyWorkerChoice,
    "Supermajority": AnyAggregation,
}


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the page's blocks define, each executed as it is printed."""
    defined: dict[str, Any] = {"__name__": "add_a_policy"}
    for block in blocks_of(PAGE):
        if block.language == "python":
            exec(compile(block.text, f"{PAGE.name}:{block.line}", "exec"), defined)  # noqa: S102  our own page
    return defined


@pytest.mark.parametrize("name", FAMILIES)
def test_the_line_in_the_union_makes_it_a_policy(page, name):
    """Its configuration survives JSON, told apart by its kind, and its schema describes it."""
    new = page[name]
    union = TypeAdapter(Annotated[get_args(FAMILIES[name])[0] | new, Field(discriminator="kind")])
    assert union.validate_json(union.dump_json(new())) == new()
    assert union.validate_python({"kind": new().kind}) == new()
    assert ">>>" not in new.model_json_schema()["description"]


@pytest.mark.parametrize(("classes", "most"), [(2, 6), (3, 3)])
def test_the_requirement_keeps_its_contract(page, classes, most):
    """Nothing is missing exactly where it holds, and its reason agrees."""
    requirement = page["Lead"]()
    votes = np.array(list(product(range(most + 1), repeat=classes)), dtype=float)
    lookahead = Lookahead.of(Anonymous(), State(votes, np.empty((len(votes), 0))), ItemContext.plain(len(votes)))
    satisfied = requirement.satisfied(lookahead.now)
    assert satisfied.any()
    np.testing.assert_array_equal(requirement.shortfall(lookahead) == 0, satisfied)
    for row, held in enumerate(satisfied):
        assert requirement.reason(lookahead.now, row).code.endswith("not-reached") == (not held)
    assert requirement.shortfall(lookahead)[0] == requirement.min_lead  # of no votes


def test_the_allocation_keeps_its_contract(page):
    check_uses(page["Disputed"]())


def test_the_worker_model_keeps_its_contract(page):
    """Answers add up to Bayes' rule, and to one."""
    model, context = page["FixedAccuracy"](), ItemContext.plain(2)
    state, skill = model.start(context, 3), np.empty((2, 0))
    assert model.chances(model.read(state, context), skill).sum(axis=1) == pytest.approx(1)
    after, _ = model.learn(state, context, skill, np.array([0, 2]))
    assert after.votes.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert state.votes.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert model.read(after, context).posterior.round(6).tolist() == [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]


def test_the_worker_choice_keeps_its_contract(page):
    """The cheapest worker who has an item is asked."""
    one = np.ones(3)
    candidates = CandidateWorkers(
        agreed_answers=one,
        scored_answers=one,
        price=np.array([3.0, 2.0, 1.0]),
        number=np.arange(3),
        best=np.array([0.1, 0.1, -np.inf]),
        accuracy=one,
    )
    assert page["Cheapest"]().choose_from(candidates, seed=1, turn=1, items=5) == 1


def test_the_aggregation_keeps_its_contract(page):
    """Three of four agree on the first item, two of four on the second."""
    ballots = Ballots.of(item=[0, 0, 0, 0, 1, 1, 1, 1], worker=[0, 1, 2, 3] * 2, label=[1, 1, 1, 0, 1, 1, 0, 0])
    found = page["Supermajority"]().fit(ballots)
    assert found.posterior.tolist() == [[0.25, 0.75], [0.5, 0.5]]
    assert found.right_and_wrong.sum() == len(ballots.label)


def test_a_job_runs_with_all_of_them(page):
    """Through the simulation, with the engine that the service uses."""
    new = {name: page[name]() for name in FAMILIES}
    simulated = page["try_out"](
        requirement=new["Lead"],
        allocation=new["Disputed"],
        worker_model=new["FixedAccuracy"],
        worker_choice=new["Cheapest"],
        aggregation=new["Supermajority"],
    )
    job = simulated.job
    resolved = job.label >= 0
    assert resolved.mean() > 0.8
    votes = np.array([np.bincount([vote.label for vote in each], minlength=2) for each in job.ballots])
    np.testing.assert_array_equal(np.abs(votes[:, 0] - votes[:, 1])[resolved], 2)
    assert (job.label == np.arange(40) % 2)[resolved].mean() > 0.8
    assert simulated.policy.aggregation.fit(simulated.ballots()).posterior.shape == (40, 2)
    assert Belief.of(votes).total.sum() == job.given
