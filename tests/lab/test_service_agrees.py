"""One client who asks and answers over HTTP meets the decisions of the job in memory, one after the other."""

import numpy as np
import pytest

from app.lab.campaign import Campaign
from app.lab.crowd import Crowd, guessers, skilled, truths
from app.policy.chance import number_of
from app.policy.rules import Rules

ITEMS, WORKERS = 60, 8
LABELS = ("cat", "dog")


class Told(Campaign):
    """A campaign that tells what it has just done."""

    last: tuple[int, int, int]

    def _answer(self, item: int, worker: int, label: int) -> None:
        self.last = (item, worker, label)
        super()._answer(item, worker, label)


def campaign_of(rules: Rules, seed: int) -> Told:
    rng = np.random.default_rng(seed)
    habits = np.concatenate([skilled(rng.uniform(0.65, 0.95, WORKERS - 2), 2), guessers(2, 2)])
    campaign = Told(rules, Crowd(truths(ITEMS, 2, rng), habits), rng)
    campaign.job.number = np.array([number_of(f"w{n}") for n in range(WORKERS)])
    return campaign


FIELDS = {
    "the default": {},
    "refits often": {"refit": {"first": 20, "growth": 0.05}},
    "two coins": {"worker_model": {"kind": "confusion"}, "allocation": {"kind": "opt-kg"}},
    "reopens": {"refit": {"first": 25, "reopen": True}, "requirement": {"kind": "posterior", "min_probability": 0.9}},
    "begun items first": {"spammers": {"min_answers": 1000}},
    "plain votes": {"worker_model": {"kind": "anonymous"}, "requirement": {"kind": "ratio"}},
}


@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS.keys())
async def test_the_same_requests_lead_to_the_same_decisions(client, fields):
    """Which item, which verdict, which skills: refits and changes of the model included."""
    body = {"labels": list(LABELS), "budget": None, "seed": 4} | fields
    campaign = campaign_of(Rules.model_validate({key: body[key] for key in body if key != "budget"}), seed=9)
    path = f"/v1/jobs/{(await client.post('/v1/jobs', json=body)).json()['id']}"
    await client.post(f"{path}/items", json=[{"key": f"i{n}"} for n in range(1, ITEMS + 1)])
    coming, steps = np.random.default_rng(3), 0
    for worker in coming.integers(0, WORKERS, 150).tolist():
        given = (await client.post(f"{path}/next", json={"worker": f"w{worker}"})).json()["assignments"]
        if not campaign.serve(worker):
            assert given == []
            continue
        item, _, label = campaign.last
        assert [one["item"] for one in given] == [f"i{item + 1}"], f"step {steps}"
        answer = {"assignment": given[0]["id"], "label": LABELS[label]}
        told = (await client.post(f"{path}/answers", json=answer)).json()
        if told["verdict"] != "continue":  # a refit that the answer brought about may have closed the item afterwards
            assert fields.get("refit", {}).get("reopen") or not campaign.job.open[item]
        steps += 1
    assert steps > 100
    shown = (await client.get(f"{path}/workers")).json()["workers"]
    if campaign.job.skill.shape[1]:
        accuracy = campaign.job.engine.model.accuracy(campaign.job.skill)
        for one in shown:
            assert one["skill"]["estimate"] == pytest.approx(accuracy[int(one["worker"][1:])], abs=1e-9)
    status = (await client.get(path)).json()
    assert status["items"]["open"] == int(campaign.job.open.sum())
    assert status["answers"] == campaign.job.given == steps
