"""The crowd, an expert, a model and their mixes, compared with all plans over all sequences of answers."""

from itertools import product

import numpy as np
import pytest
from scipy import integrate, stats

from app.policy.planning.cost_sensitive import Prior, best_strategy
from app.policy.planning.fitness import Market, Model, best_way, visits, ways
from app.policy.planning.stopping_policy import ACCEPT, ASK, REFER, Expert

LOSSES = [0.0, 3.0, 9.0, 30.0, 80.0, 300.0]


def chance_of(a, b, right, wrong):
    density = stats.beta(a, b).pdf
    return integrate.quad(lambda x: x**right * (1 - x) ** wrong * density(x), 0, 1, epsabs=1e-13, epsrel=1e-11)[0]


def cases(a, b, most, model):
    """Every (is the first label right, votes for it and against it in order) with its chance."""
    for label_is_right, share in ((True, model), (False, 1 - model)):
        for right in product((True, False), repeat=most):
            chance = share * chance_of(a, b, sum(right), most - sum(right))
            yield label_is_right, [is_right == label_is_right for is_right in right], chance


def every_plan(most, experts):
    """What to do at each (votes for, votes against): keep the label, take the other, ask again, or ask the expert."""
    there = [(votes - against, against) for votes in range(most + 1) for against in range(votes + 1)]
    ends = ["label", "other", *(["expert"] if experts else [])]
    choices = [ends if sum(at) == most else [*ends, "ask"] for at in there]
    for chosen in product(*choices):
        yield dict(zip(there, chosen, strict=True))


def followed(plan, votes):
    """Where the plan ends on this case: (votes bought, what it ends with)."""
    supporting = 0
    for bought in range(len(votes) + 1):
        action = plan[supporting, bought - supporting]
        if action != "ask":
            return bought, action
        supporting += votes[bought]
    raise AssertionError("a plan ends with the last vote")


def least_shortfall(loss, plans, known_cases, expert):
    """(1 - A) L + C of the best plan."""

    def shortfall(plan):
        total = 0.0
        for label_is_right, votes, chance in known_cases:
            bought, end = followed(plan, votes)
            if end == "expert":
                total += chance * (bought + expert.price + (1 - expert.accuracy) * loss)
            else:
                total += chance * (bought + ((end == "label") != label_is_right) * loss)
        return total

    return min(map(shortfall, plans))


@pytest.mark.parametrize("expert", [None, Expert(4.0), Expert(2.0, 0.9)], ids=["no expert", "sure", "cheap"])
@pytest.mark.parametrize("model", [None, Model(0.7, 0.3), Model(0.95)], ids=["no model", "weak", "strong"])
def test_the_mix_is_the_best_plan_there_is(expert, model):
    """No plan with up to two answers is better, with the expert at any votes and the model's label at the start."""
    known = list(cases(4, 1.5, 2, model.accuracy if model else 0.5))
    plans = list(every_plan(2, experts=expert is not None))
    market = Market(Prior(4, 1.5), 2, expert, model)
    mix = ways(market, LOSSES)[-1]
    paid = model.price if model else 0.0
    by_hand = [paid + least_shortfall(loss, plans, known, expert) for loss in LOSSES]
    np.testing.assert_allclose(mix.shortfall(LOSSES), by_hand, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["crowd-expert", "model-crowd", "model-crowd-expert"])
@pytest.mark.parametrize("loss", [30.0, 150.0])
def test_the_steps_do_what_the_way_promises(name, loss):
    """Following the steps gives the accuracy, the answers and the share of the expert that the way promises."""
    market = Market(Prior(6, 2), 15, Expert(9.0, 0.97), Model(0.8, 0.5))
    way = next(way for way in ways(market, loss) if way.name == name)
    steps = list(visits(market, way, loss))
    ends = [at for at in steps if at.action != ASK]
    assert sum(at.reached for at in ends) == pytest.approx(1)
    assert sum(at.reached for at in steps if at.action == ASK) == pytest.approx(way.answers[0])
    assert sum(at.reached for at in ends if at.action == REFER) == pytest.approx(way.expert_share[0])
    accuracy = sum(at.reached * (0.97 if at.action == REFER else at.right) for at in ends)
    assert accuracy == pytest.approx(way.accuracy[0])


def test_a_crowd_alone_is_the_paper_s_strategy():
    """With enough answers allowed, V - P(0, 0) of Section 6.2 equals that of Algorithm 1."""
    for loss in LOSSES:
        crowd = ways(Market(Prior(6, 2), 100), loss)[-1]
        assert crowd.shortfall(loss)[0] == pytest.approx(-best_strategy(Prior(6, 2), loss).profit(0.0))


def test_more_to_choose_from_never_costs_more():
    """A mix is at least as good as its parts, except for the price of a model's label that was not needed."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        b = rng.uniform(0.5, 4)
        expert = Expert(rng.uniform(0.5, 30), rng.uniform(0.6, 1))
        market = Market(Prior(b + rng.uniform(0.1, 6), b), 15, expert, Model(rng.uniform(0.5, 1)))
        short = {way.name: way.shortfall(LOSSES) for way in ways(market, LOSSES)}
        for mix in ("crowd-expert", "model-crowd", "model-crowd-expert"):
            for part in mix.split("-"):
                assert (short[mix] <= short[part] + 1e-9).all(), (mix, part, market)
        for part in ("crowd-expert", "model-crowd"):
            assert (short["model-crowd-expert"] <= short[part] + 1e-9).all()
        assert (short["crowd"] <= short["guess"] + 1e-9).all()


def test_a_more_expensive_expert_is_asked_less():
    asked = [
        ways(Market(Prior(6, 2), 40, Expert(price)), 100.0)[-1].expert_share[0] for price in (2, 5, 10, 20, 40, 80)
    ]
    assert asked == sorted(asked, reverse=True)
    assert asked[0] == 1
    assert asked[-1] == 0


def test_of_equals_the_simpler_is_taken():
    """An expert who costs no more than an answer is asked at once, even if a mix would be as good."""
    found = ways(Market(Prior(6, 2), 10, Expert(0.5)), 50.0)
    assert best_way(found, 50.0).name == "expert"
    assert best_way(ways(Market(Prior(6, 2), 10, model=Model(1.0)), 50.0), 50.0).name == "model"
    assert best_way(ways(Market(Prior(6, 2), 10), 4.0), 4.0).name == "guess"
    assert best_way(ways(Market(Prior(6, 2), 10), 4.1), 4.1).name == "crowd"


def test_crowds_keep_the_promise_of_the_mix():
    """Simulated questions that follow the steps: a model's label, workers of B(6, 2), and an expert who errs."""
    rng, items, loss = np.random.default_rng(9), 60_000, 60.0
    market = Market(Prior(6, 2), 12, Expert(8.0, 0.96), Model(0.8, 0.5))
    way = ways(market, loss)[-1]
    action = np.full((14, 14), ACCEPT)
    for at in visits(market, way, loss):
        action[at.votes_for, at.votes_against] = at.action
    label_is_right, accuracy = rng.random(items) < 0.8, rng.beta(6, 2, items)
    votes = np.zeros((2, items), dtype=np.int64)
    for _ in range(12):
        asked = action[votes[0], votes[1]] == ASK
        supports = (rng.random(items) < accuracy) == label_is_right
        votes = votes + np.stack([asked & supports, asked & ~supports])
    expert_share = action[votes[0], votes[1]] == REFER
    label_likelier = np.array([[_likelier(v, w) for w in range(14)] for v in range(14)])
    right = np.where(expert_share, rng.random(items) < 0.96, label_likelier[votes[0], votes[1]] == label_is_right)
    spent = 0.5 + votes.sum(axis=0) + 8.0 * expert_share
    for seen, promised in ((right, way.accuracy[0]), (spent, way.cost[0])):
        assert abs(np.mean(seen) - promised) < 4 * np.std(seen) / np.sqrt(items)


def _likelier(supporting, against):
    """Whether the label is more likely right than wrong, by integration: 4 to 1 by the model, B(6, 2) for the votes."""
    yes, no = chance_of(6, 2, supporting, against), chance_of(6, 2, against, supporting)
    return 0.8 * yes >= 0.2 * no
