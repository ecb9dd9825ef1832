"""A client that asks and answers over HTTP gets the same decisions, in order, as the job in memory."""

import httpx
import numpy as np
import pytest

from app.policy.answers import NumberAnswer, Said
from app.policy.core.belief import ItemContext
from app.policy.core.randomness import number_of
from app.policy.job_policy import JobPolicy
from app.simulation.crowd_generator import Recipe, generate_answers
from app.simulation.crowds import Crowd, Respondents, guessers, skilled, truths
from app.simulation.recorded_crowd import RecordedCrowd
from app.simulation.simulated_job import SimulatedJob
from tests.depth import depth

ITEMS, WORKERS = 60, 8
TURNS = depth(80, 120)
LABELS = ("cat", "dog")


class Told(SimulatedJob):
    """A simulated job that reports its last step."""

    last: tuple[int, int, Said]

    def _answer(self, item: int, worker: int, label: Said) -> None:
        self.last = (item, worker, label)
        super()._answer(item, worker, label)


def crowd_of(rng: np.random.Generator, guessing: int = 2) -> Crowd:
    habits = np.concatenate([skilled(rng.uniform(0.65, 0.95, WORKERS - guessing), 2), guessers(guessing, 2)])
    return Crowd(truths(ITEMS, 2, rng), habits)


def simulated_job_of(policy: JobPolicy, crowd: Respondents, rng: np.random.Generator, **terms: object) -> Told:
    simulated_job = Told(policy, crowd, rng, **terms)
    simulated_job.job.number = np.array([number_of(f"w{n}") for n in range(simulated_job.job.workers)])
    return simulated_job


FIELDS = {
    "the default": {},
    "refits often": {"refit": {"first": 20, "growth": 0.05}},
    "two coins": {"worker_model": {"kind": "confusion"}, "allocation": {"kind": "opt-kg"}},
    "reopens": {"refit": {"first": 25, "reopen": True}, "requirement": {"kind": "posterior", "min_probability": 0.9}},
    "begun items first": {"spammers": {"min_answers": 1000}},
    "plain votes": {"worker_model": {"kind": "anonymous"}, "requirement": {"kind": "ratio"}},
    "several labels": {"answer": {"kind": "choices"}, "labels": ["cat", "dog", "cow"], "refit": {"first": 25}},
    "numbers": {
        "answer": {"kind": "number", "low": 0, "high": 100},
        "labels": [],
        "requirement": {"kind": "precision", "half_width": 20},
        "refit": {"first": 25, "reopen": True},
    },
}


def crowd_for(policy: JobPolicy, rng: np.random.Generator) -> Respondents:
    if policy.answer.is_one_label:
        return crowd_of(rng)
    recipe = Recipe(items=ITEMS, workers=WORKERS, classes=max(len(policy.labels), 2), spammers=0.25)
    return RecordedCrowd(generate_answers(recipe, rng, policy.answer))


@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS.keys())
async def test_the_same_requests_lead_to_the_same_decisions(client, fields):
    """Items, verdicts and skills are the same, also after refits and changes of the model."""
    body = {"labels": list(LABELS), "budget": None, "seed": 4} | fields
    rng = np.random.default_rng(9)
    policy = JobPolicy.model_validate({key: body[key] for key in body if key != "budget"})
    simulated_job = simulated_job_of(policy, crowd_for(policy, rng), rng)
    path = f"/v1/jobs/{(await client.post('/v1/jobs', json=body)).json()['id']}"
    await client.post(f"{path}/items", json=[{"key": f"i{n}"} for n in range(1, ITEMS + 1)])
    coming, steps = np.random.default_rng(3), 0
    for worker in coming.integers(0, WORKERS, TURNS).tolist():
        given = (await client.post(f"{path}/next", json={"worker": f"w{worker}"})).json()["assignments"]
        if not simulated_job.serve(worker):
            assert given == []
            continue
        item, _, label = simulated_job.last
        assert [one["item"] for one in given] == [f"i{item + 1}"], f"step {steps}"
        answer = {"assignment": given[0]["id"], policy.answer.field: policy.answer.content(label, policy.labels)}
        told = (await client.post(f"{path}/answers", json=answer)).json()
        if told["verdict"] != "continue":  # a refit that the answer caused may have closed the item afterwards
            assert fields.get("refit", {}).get("reopen") or not simulated_job.job.open[item]
        steps += 1
    assert steps > 0.8 * TURNS
    shown = (await client.get(f"{path}/workers")).json()["workers"]
    if simulated_job.job.skill.shape[1] and not isinstance(policy.answer, NumberAnswer):
        accuracy = simulated_job.job.engine.model.accuracy(simulated_job.job.skill)
        for one in shown:
            assert one["skill"]["estimate"] == pytest.approx(
                accuracy[int(one["worker"][1:])], abs=5e-5
            )  # shown with four decimals
    status = (await client.get(path)).json()
    assert status["items"]["open"] == int(simulated_job.job.open.sum())
    assert status["answers"] == simulated_job.job.answers == steps


COST = np.resize([1.0, 0.5, 2.0, 0.3], ITEMS)
PRICE = np.resize([1.0, 0.1, 0.7, 2.0, 0.3], WORKERS)
GOLD_EVERY, PRIOR_EVERY = 9, 4  # items
FEATURES_EVERY = 5  # items, one of which has no features
SOURCES = ["prior", "features", "model"]  # of opinions, who stand behind the workers
CALIBRATED_BY_EVERY = 4  # items in a job with enough gold to be calibrated
PAIR, UCB = {"worker_choice": {"kind": "pair"}}, {"worker_choice": {"kind": "ucb"}}
TESTS = {"spammers": {"min_answers": 3, "alpha": 0.4}, "gold": {"first_share": 0.5, "last_share": 0.4}}
OWN_GOLD = {"auto_gold": {"min_confidence": 0.85, "recheck": 0.5}}
SURE = {
    "requirement": {"kind": "posterior", "min_probability": 0.8},
    "refit": {"first": 7, "growth": 0, "reopen": True},
}
CHEAP = {"worker_choice": {"kind": "pair", "second_opinions": 0}}  # who charge less than the others
VOTES = {"worker_model": {"kind": "anonymous"}, "requirement": {"kind": "ratio"}}
FILTER = {
    "worker_model": {"kind": "spam-filter", "min_labels": 3, "alpha": 0.4},
    "requirement": {"kind": "count", "labels": 3},
}
TERMS = {
    "votes": VOTES | {"budget": "10.1"},
    "pairs": PAIR | TESTS | SURE | {"budget": "9.7"},
    "the best record": UCB | TESTS | SURE | OWN_GOLD,
    "the record of the paper": {"worker_choice": {"kind": "ucb", "own_votes": True}} | TESTS | SURE,
    "pairs by votes": PAIR | VOTES | TESTS | OWN_GOLD,
    "weighted votes": TESTS | OWN_GOLD | {"worker_model": {"kind": "weighted"}, "requirement": {"kind": "ratio"}},
    "votes left out": TESTS | OWN_GOLD | FILTER | {"spammers": {"min_answers": 5, "alpha": 0.4}},
    "calibrated": {"gold": {"first_share": 0.7, "last_share": 0.6}} | SURE,
    "a source who answers": TESTS | SURE | {"prior_source": "w2"},
    "a source who guesses": SURE | {"prior_source": "w6", "spammers": {"min_answers": 3, "alpha": 0.4}},
    "a source in one coin": SURE | {"prior_source": "w1", "worker_model": {"kind": "one-coin"}},
    "a source in other terms": OWN_GOLD
    | {"prior_source": "w1", "worker_model": {"kind": "confusion"}, "refit": {"first": 9}},
    "features": SURE | {"features": {"kind": "logistic"}},
    "features of votes": VOTES | {"features": {"kind": "logistic", "source": "model"}, "refit": {"first": 9}},
    "a budget that is split": VOTES | {"allocation": {"kind": "crowdbudget"}, "budget": "60"},
    "a budget that is split, by cheap workers": CHEAP | VOTES | {"allocation": {"kind": "crowdbudget"}, "budget": "60"},
    "profit, by cheap workers": CHEAP | VOTES | {"requirement": {"kind": "profit", "value": 9, "loss": 6}},
}


CROWD = dict.fromkeys(TERMS, 8) | {"votes left out": 5}  # a job in which everything that could differ happens


@pytest.mark.parametrize("name", TERMS)
async def test_money_gold_blocks_and_choices_are_the_same(client, name):
    """Items have costs and workers prices, some items have gold or priors, guessers are found, money runs out.

    Three workers are available at a time. A job that chooses picks one of them; any other job takes the first.
    """
    fields, rng = TERMS[name], np.random.default_rng(CROWD[name])
    crowd = crowd_of(rng, guessing=3)
    place = np.arange(ITEMS)
    every = CALIBRATED_BY_EVERY if name == "calibrated" else GOLD_EVERY
    gold = np.where(place % every == 0, crowd.truth, -1)
    chance = np.where(place % PRIOR_EVERY == 1, 0.8, np.nan)
    context = ItemContext(COST, np.zeros(ITEMS), place + 1, prior=np.column_stack([chance, 1 - chance]), gold=gold)
    body = {"labels": list(LABELS), "budget": None, "seed": 4} | fields
    policy = JobPolicy.model_validate({key: body[key] for key in body if key != "budget"})
    budget = None if body["budget"] is None else float(body["budget"])
    source = int(fields["prior_source"][1:]) if "prior_source" in fields else None
    features = np.column_stack([crowd.truth + np.sin(place), np.cos(place), np.full(ITEMS, 7.0)])
    features[::FEATURES_EVERY] = np.nan
    simulated_job = simulated_job_of(
        policy, crowd, rng, context=context, price=PRICE, budget=budget, source=source, features=features
    )
    path = await job_on_these_terms(client, body, gold, features if "features" in fields else None)
    coming = np.random.default_rng(3)
    for _ in range(90):
        team = coming.permutation(WORKERS)[:3]
        given = (await client.post(f"{path}/next", json={"workers": [f"w{n}" for n in team]})).json()["assignments"]
        if not simulated_job.serve_one_of(team):
            assert given == []
            continue
        item, worker, label = simulated_job.last
        assert [(one["item"], one["worker"]) for one in given] == [(f"i{item}", f"w{worker}")]
        told = await client.post(f"{path}/answers", json={"assignment": given[0]["id"], "label": LABELS[label]})
        assert told.status_code == 200, told.text
    await assert_same_books(client, path, simulated_job)
    await assert_same_skills(client, path, simulated_job)
    assert simulated_job.gold_asked.any()
    assert simulated_job.blocked.any() == ("spammers" in fields)
    assert (simulated_job.job.engine.calibration is not None) == (name == "calibrated")
    expected = (await client.get(path)).json()["expected_price"]
    follows = not {"profit", "crowdbudget"}.isdisjoint({policy.requirement.kind, policy.allocation.kind})
    assert expected == pytest.approx(simulated_job.job.engine.price if follows else 1, rel=1e-5)
    if "cheap" in name:
        assert expected < 0.5 * np.median(PRICE)


async def job_on_these_terms(
    client: httpx.AsyncClient, body: dict, gold: np.ndarray, features: np.ndarray | None
) -> str:
    """The same items and workers in the service."""
    items: list[dict] = [{"key": f"i{n}", "cost": cost} for n, cost in enumerate(COST.tolist())]
    for item, truth in zip(items, gold.tolist(), strict=True):
        if truth >= 0:
            item["gold"] = LABELS[truth]
    for item in items[1::PRIOR_EVERY]:
        item["prior"] = {"cat": 0.8, "dog": 0.2}
    for n, item in enumerate(items):
        if features is not None and n % FEATURES_EVERY:
            item["features"] = features[n].tolist()
    path = f"/v1/jobs/{(await client.post('/v1/jobs', json=body)).json()['id']}"
    workers = [{"worker": f"w{n}", "price": price} for n, price in enumerate(PRICE.tolist())]
    for what, sent in (("items", items), ("workers", workers)):
        answer = await client.post(f"{path}/{what}", json=sent)
        assert answer.is_success, answer.text
    return path


async def assert_same_skills(client: httpx.AsyncClient, path: str, simulated_job: Told) -> None:
    """The sources of opinions are workers like any other, and both have learned the same about them."""
    model = simulated_job.job.engine.model
    if np.isnan(model.interval(simulated_job.job.skill)).any() or not model.fits_skills:
        return
    for behind, source in enumerate(simulated_job.policy.sources):
        shown = (await client.get(f"{path}/workers/{source}")).json()["skill"]["estimate"]
        position = WORKERS + behind if source in SOURCES else int(source[1:])
        assert shown == pytest.approx(model.accuracy(simulated_job.job.skill)[position], abs=5e-5)


async def assert_same_books(client: httpx.AsyncClient, path: str, simulated_job: Told) -> None:
    """Both have the same spending, the same facts about workers, and the same state of the items."""
    job = simulated_job.job
    assert float((await client.get(path)).json()["spent"]) == pytest.approx(job.spent)
    shown = (await client.get(f"{path}/workers")).json()["workers"]
    assert [
        (one["status"] == "blocked", one["scored_answers"], one["agreed_answers"], one["gold"]["asked"])
        for one in sorted(
            shown, key=lambda one: (one["worker"] in SOURCES and 1 + SOURCES.index(one["worker"]), one["worker"])
        )
    ] == list(zip(simulated_job.blocked, job.scored_answers, job.agreed_answers, simulated_job.gold_asked, strict=True))
    results = (await client.get(f"{path}/results", params={"limit": ITEMS})).json()["results"]
    labels = [one["label"] if one["state"] == "resolved" else None for one in results]
    assert labels == [None if label < 0 else LABELS[label] for label in job.label.tolist()]
    shown_confidence = np.array([one["confidence"] for one in results])
    begun = (job.label < 0) & (job.state(np.arange(ITEMS)).votes.any(axis=1))
    assert shown_confidence[begun] == pytest.approx(job.confidence(np.flatnonzero(begun)), abs=1e-6)
    assert [[*one["votes"].values()] for one in results] == job.state(np.arange(ITEMS)).votes.tolist()
