"""What is known about workers can be read, sorted and paged; prices and tiers can be set, one by one or in bulk."""

from urllib.parse import quote

import pytest
from scipy import stats

from app.api.http.pagination import cursor_of

FRESH = {
    "status": "active",
    "skill": None,
    "answers": 0,
    "scored_answers": 0,
    "agreed_answers": 0,
    "agreement": None,
    "gold": {"asked": 0, "right": 0, "accuracy": None},
    "median_seconds": None,
    "copying_probability": None,
    "accuracy": None,
    "accuracy_weight": None,
    "price": "1",
    "tier": None,
    "registered": True,
    "trusted": False,
    "blocked": None,
    "low_information": None,
}


async def register(job, *entries: dict) -> dict:
    response = await job.http.post(f"{job.path}/workers", json=list(entries))
    assert response.status_code == 200, response.text
    return response.json()


async def worker(job, name: str) -> dict:
    response = await job.http.get(f"{job.path}/workers/{quote(name, safe='')}")
    assert response.status_code == 200, response.text
    return response.json()


async def listed(job, **query: object) -> list[dict]:
    """All pages."""
    found, cursor = [], None
    while True:
        parameters = query | ({"cursor": cursor} if cursor else {})
        page = (await job.http.get(f"{job.path}/workers", params=parameters)).json()
        found += page["workers"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


async def at_work(new_job, clock, **fields):
    """A job on which five workers have answered five items, each worse than the last; a sixth is only registered."""
    job = await new_job(items=5, requirement={"kind": "count", "labels": 5}, **fields)
    await register(
        job, {"worker": "new", "price": "7"}, {"worker": "w1", "price": "0.25"}, {"worker": "w3", "price": "9"}
    )
    for n in range(5):
        for place, name in enumerate(["w0", "w1", "w2", "w3", "w4"]):
            if place >= 3:
                await job.next(name, count=5)
                clock.advance(n + place)
            await job.answer(f"i{n + 1}", name, "dog" if place >= 3 and n < 2 * place - 4 else "cat")
    return job


async def test_a_worker_is_told_in_full(new_job, clock):
    job = await at_work(new_job, clock)
    told = await worker(job, "w3")
    low, high = stats.beta.ppf([0.025, 0.975], 3.5, 2.5)
    assert told == FRESH | {
        "worker": "w3",
        "answers": 5,
        "scored_answers": 5,
        "agreed_answers": 3,
        "agreement": 0.6,
        "skill": {
            "estimate": pytest.approx(3.5 / 6, abs=1e-4),
            "low": pytest.approx(low, abs=1e-4),
            "high": pytest.approx(high, abs=1e-4),
        },
        "median_seconds": told["median_seconds"],
        "price": "9",
    }
    assert told["median_seconds"] > 0
    assert await worker(job, "new") == FRESH | {"worker": "new", "price": "7"}
    assert (await worker(job, "w0"))["registered"] is False


@pytest.mark.parametrize("model", ["one-coin", "two-coin", "confusion", "spam-filter", "weighted"])
async def test_skill_comes_with_its_interval(new_job, clock, model):
    job = await at_work(new_job, clock, worker_model={"kind": model})
    for one in await listed(job):
        if one["worker"] == "new":
            assert one["skill"] is None
        else:
            assert 0 <= one["skill"]["low"] < one["skill"]["estimate"] < one["skill"]["high"] <= 1
    best, *_, worst, newcomer = [one["worker"] for one in await listed(job, sort="-skill")]
    assert newcomer == "new"
    assert (best == "w4", worst) == (False, "w4")


async def test_gold_answers_are_told_apart(new_job):
    job = await new_job(requirement={"kind": "count", "labels": 4})
    items = [{"key": "g1", "gold": "cat"}, {"key": "g2", "gold": "dog"}, {"key": "i1"}]
    await job.http.post(f"{job.path}/items", json=items)
    for item in ("g1", "g2", "i1"):
        await job.answer(item, "w", "cat")
    told = await worker(job, "w")
    assert told["gold"] == {"asked": 2, "right": 1, "accuracy": 0.5}
    assert (told["answers"], told["scored_answers"], told["agreed_answers"]) == (3, 2, 1)


VALUES = {
    "name": lambda one: one["worker"],
    "skill": lambda one: one["skill"] and one["skill"]["estimate"],
    "answers": lambda one: one["answers"],
    "agreement": lambda one: one["agreement"],
    "seconds": lambda one: one["median_seconds"],
    "price": lambda one: float(one["price"]),
    "copying_probability": lambda one: one["copying_probability"],
}


@pytest.mark.parametrize("sort", VALUES)
@pytest.mark.parametrize("model", ["anonymous", "one-coin"])
async def test_pages_in_any_order_tell_everybody_once(new_job, clock, sort, model):
    """Ties are sorted by name, and workers without a value come last in both directions."""
    job = await at_work(new_job, clock, worker_model={"kind": model})
    everybody, value = await listed(job), VALUES[sort]
    for prefix, way in (("", 1), ("-", -1)):
        known = sorted((one for one in everybody if value(one) is not None), key=lambda one: one["worker"])
        known.sort(key=value, reverse=way < 0)
        unknown = [one for one in everybody if value(one) is None]
        for limit in (1, 2, 100):
            assert await listed(job, sort=prefix + sort, limit=limit) == known + unknown


async def test_a_cursor_goes_with_its_order(new_job, clock):
    job = await at_work(new_job, clock)
    cursor = (await job.http.get(f"{job.path}/workers", params={"sort": "-skill", "limit": 2})).json()["next_cursor"]
    refused = await job.http.get(f"{job.path}/workers", params={"sort": "skill", "cursor": cursor})
    assert refused.status_code == 422
    assert "sorted by -skill, not by skill" in refused.json()["detail"]
    assert refused.json()["errors"][0]["pointer"] == "?cursor"


@pytest.mark.parametrize(
    "parts",
    [
        ("name", "", "a\x00"),
        ("answers", "1e5", "a"),
        ("price", "NaN", "a"),
        ("price", "1e-99999", "a"),
        ("skill", "inf", "a"),
        ("who",),
        (),
    ],
)
async def test_a_cursor_that_no_page_gave_is_refused(new_job, parts):
    job = await new_job()
    sort = parts[0] if len(parts) == 3 else "name"
    refused = await job.http.get(f"{job.path}/workers", params={"sort": sort, "cursor": cursor_of(*parts)})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "?cursor")


async def test_the_blocked_can_be_listed_alone(new_job):
    job = await new_job()
    await register(job, {"worker": "a"}, {"worker": "b"}, {"worker": "c"})
    await job.http.post(f"{job.path}/workers/b/block")
    assert [one["worker"] for one in await listed(job, status="blocked", limit=1)] == ["b"]
    assert [one["worker"] for one in await listed(job, status="active", limit=1)] == ["a", "c"]


@pytest.mark.parametrize("name", ["a/b", "two words", "a/price", "ünïcode/ 100%", "?#", "..."])
async def test_names_may_be_anything(new_job, name):
    job = await new_job(items=1)
    path = f"{job.path}/workers/{quote(name, safe='')}"
    assert (await job.http.post(f"{path}/price", json={"price": "0.05"})).json()["worker"] == name
    assert (await job.http.post(f"{path}/block")).json()["status"] == "blocked"
    assert (await job.http.post(f"{path}/unblock")).json()["status"] == "active"
    assert (await worker(job, name))["price"] == "0.05"


@pytest.mark.parametrize("name", ["nobody", "%00", "%20", "a" * 300])
async def test_who_is_unknown_is_not_found(new_job, name):
    job = await new_job()
    for method, path in (("GET", ""), ("POST", "/unblock")):
        refused = await job.http.request(method, f"{job.path}/workers/{name}{path}")
        assert (refused.status_code, refused.json()["code"]) == (404, "worker-unknown")


async def test_what_is_left_out_stays(new_job):
    job = await new_job(worker_model={"kind": "tiers"})
    await register(job, {"worker": "a", "price": "3", "tier": "good"}, {"worker": "b"})
    await register(job, {"worker": "a", "tier": "bad"}, {"worker": "b", "price": "0.5"})
    assert [(one["price"], one["tier"]) for one in await listed(job)] == [("3", "bad"), ("0.5", "average")]
    await register(job, {"worker": "a"}, {"worker": "b", "tier": None, "price": None})
    assert [(one["price"], one["tier"]) for one in await listed(job)] == [("3", "bad"), ("0.5", "average")]


async def test_the_last_entry_counts(new_job):
    job = await new_job()
    assert await register(job, {"worker": "a", "price": "3"}, {"worker": "a", "price": "4"}) == {"registered": 1}
    assert (await worker(job, "a"))["price"] == "4"


async def test_a_worker_at_work_becomes_registered(new_job):
    job = await new_job(items=1)
    await job.answer("i1", "a", "cat")
    assert (await worker(job, "a"))["registered"] is False
    await register(job, {"worker": "a"})
    told = await worker(job, "a")
    assert (told["registered"], told["answers"]) == (True, 1)


async def test_a_tier_weighs_the_votes_to_come(new_job):
    """The votes that are there keep the weight they had."""
    tiers = {"average": {}, "heavy": {"initial": 5}}
    job = await new_job(
        items=1, worker_model={"kind": "tiers", "tiers": tiers}, requirement={"kind": "count", "labels": 4}
    )
    await job.answer("i1", "early", "cat")
    for name in ("early", "late"):
        response = await job.http.post(f"{job.path}/workers/{name}/tier", json={"tier": "heavy"})
        assert (response.status_code, response.json()["tier"]) == (200, "heavy")
    await job.answer("i1", "late", "dog")
    posterior = (await job.http.get(f"{job.path}/items/i1")).json()["posterior"]
    assert posterior["dog"] == pytest.approx(stats.beta.sf(0.5, 6, 2), abs=1e-6)


@pytest.mark.parametrize(
    ("model", "said"), [("tiers", "Must be one of 'average', 'good', 'bad'"), ("anonymous", "has no tiers")]
)
async def test_a_tier_that_is_not_there_is_refused(new_job, model, said):
    """By name, with the tiers there are; nobody is registered."""
    job = await new_job(worker_model={"kind": model})
    bulk = await job.http.post(f"{job.path}/workers", json=[{"worker": "a"}, {"worker": "b", "tier": "best"}])
    single = await job.http.post(f"{job.path}/workers/a/tier", json={"tier": "best"})
    for refused, pointer in ((bulk, "#/1/tier"), (single, "#/tier")):
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["pointer"] == pointer
        assert said in refused.json()["errors"][0]["message"]
    assert await listed(job) == []


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("price", {"price": "-1"}, "#/price"),
        ("price", {}, "#/price"),
        ("tier", {"tier": ""}, "#/tier"),
        ("block", {"votes": "burn"}, "#/votes"),
        ("block", {"reason": " "}, "#/reason"),
        ("block", {"why": "x"}, "#/why"),
    ],
)
async def test_a_bad_change_names_the_field(new_job, path, body, pointer):
    job = await new_job()
    refused = await job.http.post(f"{job.path}/workers/a/{path}", json=body)
    assert refused.status_code == 422
    assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]
