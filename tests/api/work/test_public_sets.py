"""Recorded crowds through the service: which worker model comes into force, and how right the labels are."""

import csv
from collections import Counter
from operator import itemgetter

import pytest

from tests.depth import depth
from tests.public_sets import public_set


def rows(name: str, file: str) -> list[dict[str, str]]:
    with (public_set(name) / file).open(newline="") as lines:
        return list(csv.DictReader(lines))


def in_rounds(answers: list[dict[str, str]]) -> list[dict[str, str]]:
    """The first answer on each item, the second on each, and so on: as they come in a job."""
    so_far: Counter[str] = Counter()
    rounds = []
    for one in answers:
        rounds.append(so_far[one["item"]])
        so_far[one["item"]] += 1
    return [one for _, one in sorted(zip(rounds, answers, strict=True), key=itemgetter(0))]


# RTE has twice the answers of bluebirds; locally only `test_auto.py` fits it.
SETS = [("bluebirds", "two-coin", 0.87), ("rte", "two-coin", 0.925)][: depth(1, 2)]


@pytest.mark.parametrize(("name", "model", "accuracy"), SETS)
async def test_auto_ends_where_the_crowd_needs_it(client, name, model, accuracy):
    """With all answers and nothing but the labels said: workers of both lean to one of the two."""
    recorded, truths = rows(name, "answers.csv"), rows(name, "truth.csv")
    answers, most = in_rounds(recorded), max(Counter(one["item"] for one in recorded).values())
    fields = {"requirement": {"kind": "count", "labels": most}, "max_votes_per_label": None}
    created = await client.post("/v1/jobs", json={"labels": ["0", "1"], "budget": None, **fields})
    path = f"/v1/jobs/{created.json()['id']}"
    items = [{"key": key} for key in dict.fromkeys(one["item"] for one in answers)]
    assert (await client.post(f"{path}/items", json=items)).status_code == 201
    for start in range(0, len(answers), 500):
        sent = await client.post(f"{path}/answers", json={"answers": answers[start : start + 500]})
        assert all(one["accepted"] for one in sent.json()["results"])
    status = (await client.get(path)).json()
    assert status["answers"] == len(answers)
    assert status["worker_model_in_force"]["kind"] == model, status["worker_model_in_force"]
    found = {one["item"]: one["label"] for one in (await client.get(f"{path}/results?limit=1000")).json()["results"]}
    right = sum(found[truth["item"]] == truth["truth"] for truth in truths)
    assert right / len(truths) >= accuracy
