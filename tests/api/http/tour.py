"""A tour through every operation on one small job: the examples of the OpenAPI document are recorded from it."""

import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import httpx

JOB = "0198a3f2-5c1e-7d40-9b6a-2f8e4c7d1a35"  # stands in the examples for the id that the service drew
REQUEST_ID = "5f1c0b9e8d7a4c3b9a2e6d5f4c3b2a10"
MOST_ENTRIES = 3  # of a list in an example

ITEMS = [
    {"key": f"i{number}", "payload": {"url": f"https://example.org/{number}.jpg"}, "cost": "1"} for number in (1, 2, 3)
]
BETA = {"kind": "beta", "a": 6, "b": 2}
JOB_PATH = "/v1/jobs/{job}"


class Stop(NamedTuple):
    operation: str
    method: str
    path: str
    request: Any = None
    parameters: dict[str, str] | None = None


TOUR = (
    Stop("create_job", "POST", "/v1/jobs", {"name": "cats", "labels": ["cat", "dog"], "budget": "100"}),
    Stop("add_items", "POST", f"{JOB_PATH}/items", ITEMS),
    Stop(
        "register_workers",
        "POST",
        f"{JOB_PATH}/workers",
        [{"worker": "w1", "price": "1"}, {"worker": "expert", "price": "2", "trusted": True}],
    ),
    Stop("next_assignments", "POST", f"{JOB_PATH}/next", {"worker": "w1", "count": 3}),
    Stop("send_answers", "POST", f"{JOB_PATH}/answers", {"assignment": "1", "label": "cat"}),
    Stop(
        "extend_assignment",
        "POST",
        f"{JOB_PATH}/assignments/{{assignment}}/extend",
        {"seconds": 600},
        {"assignment": "2"},
    ),
    Stop("release_assignment", "POST", f"{JOB_PATH}/assignments/{{assignment}}/release", None, {"assignment": "2"}),
    Stop("skip_assignment", "POST", f"{JOB_PATH}/assignments/{{assignment}}/skip", None, {"assignment": "3"}),
    Stop("list_assignments", "GET", f"{JOB_PATH}/assignments"),
    Stop("list_jobs", "GET", "/v1/jobs"),
    Stop("get_job", "GET", JOB_PATH),
    Stop("change_job", "PATCH", JOB_PATH, {"name": "cats and dogs", "budget": "120"}),
    Stop("pause_job", "POST", f"{JOB_PATH}/pause"),
    Stop("resume_job", "POST", f"{JOB_PATH}/resume"),
    Stop("list_items", "GET", f"{JOB_PATH}/items"),
    Stop("get_item", "GET", f"{JOB_PATH}/items/{{key}}", None, {"key": "i1"}),
    Stop("change_item", "PATCH", f"{JOB_PATH}/items/{{key}}", {"cost": "2"}, {"key": "i2"}),
    Stop("list_workers", "GET", f"{JOB_PATH}/workers"),
    Stop("get_worker", "GET", f"{JOB_PATH}/workers/{{worker}}", None, {"worker": "w1"}),
    Stop("set_worker_price", "POST", f"{JOB_PATH}/workers/{{worker}}/price", {"price": "1.5"}, {"worker": "expert"}),
    Stop(
        "block_worker",
        "POST",
        f"{JOB_PATH}/workers/{{worker}}/block",
        {"reason": "answers at random", "votes": "remove"},
        {"worker": "expert"},
    ),
    Stop("unblock_worker", "POST", f"{JOB_PATH}/workers/{{worker}}/unblock", None, {"worker": "expert"}),
    Stop("list_results", "GET", f"{JOB_PATH}/results"),
    Stop("list_answers", "GET", f"{JOB_PATH}/answers"),
    Stop("refit_job", "POST", f"{JOB_PATH}/refit"),
    Stop("forecast_job", "POST", f"{JOB_PATH}/forecast"),
    Stop(
        "replay_job",
        "POST",
        f"{JOB_PATH}/replay",
        {"policies": ["job", "information", "round-robin"], "labels_per_item": [1, 2, 3], "seeds": 5},
    ),
    Stop("list_operations", "GET", f"{JOB_PATH}/operations"),
    Stop("get_operation", "GET", f"{JOB_PATH}/operations/{{operation}}", None, {"operation": "1"}),
    Stop("delete_item", "DELETE", f"{JOB_PATH}/items/{{key}}", None, {"key": "i2"}),
    Stop(
        "plan_accuracy_cost",
        "POST",
        "/v1/plans/accuracy-cost",
        {
            "prior": BETA,
            "answer_cost": "0.05",
            "max_workers": 15,
            "value": {"kind": "linear", "value": 1, "loss": 5},
            "max_cost": "0.5",
        },
    ),
    Stop(
        "plan_fitness",
        "POST",
        "/v1/plans/fitness",
        {
            "value": "1",
            "loss": "5",
            "answer_cost": "0.05",
            "prior": BETA,
            "expert": {"price": "1", "accuracy": 0.98},
            "model": {"accuracy": 0.7, "price": "0.01"},
        },
    ),
    Stop(
        "plan_forecast",
        "POST",
        "/v1/plans/forecast",
        {"labels": ["cat", "dog"], "items": 100, "budget": "600", "prior": BETA, "crowd": {"workers": 50}},
    ),
    Stop(
        "plan_requirement",
        "POST",
        "/v1/plans/requirement",
        {"accuracy": 0.9, "prior": BETA, "items": 100, "answer_cost": "0.05"},
    ),
    Stop(
        "plan_split",
        "POST",
        "/v1/plans/split",
        {
            "budget": "100",
            "groups": [
                {"cost": "0.2", "items": 50, "accuracy": 0.9},
                {"cost": "0.5", "items": 50, "accuracy": 0.7},
            ],
            "target": {"error_rate": 0.1},
        },
    ),
    Stop("list_policies", "GET", "/v1/catalog"),
    Stop("get_health", "GET", "/healthz"),
    Stop("get_readiness", "GET", "/readyz"),
)
TIERS = Stop("set_worker_tier", "POST", f"{JOB_PATH}/workers/{{worker}}/tier", {"tier": "good"}, {"worker": "expert"})
AUDIT_PATH = f"{JOB_PATH}/audits/{{audit}}"
AUDIT = Stop("begin_audit", "POST", f"{JOB_PATH}/audits", {"min_accuracy": 0.95, "confidence": 0.95, "max_items": 300})
AUDITED = (
    AUDIT,
    Stop("list_audit_items", "GET", f"{AUDIT_PATH}/items", None, {"audit": "1"}),
    Stop(
        "answer_audit",
        "POST",
        f"{AUDIT_PATH}/answers",
        [{"item": f"i{number}", "label": "cat"} for number in (1, 2, 3)],
        {"audit": "1"},
    ),
    Stop("get_audit", "GET", AUDIT_PATH, None, {"audit": "1"}),
    Stop("list_audits", "GET", f"{JOB_PATH}/audits"),
    Stop("get_certificate", "GET", f"{JOB_PATH}/certificate"),
)
END = Stop("delete_job", "DELETE", JOB_PATH)


class Kind(NamedTuple):
    """A job of another kind of answers, and what its examples show."""

    job: dict[str, Any]
    gold: Any
    answers: list[dict[str, Any]]  # to i1


KINDS = {
    "several labels": Kind(
        {"name": "tags", "answer": {"kind": "choices"}, "labels": ["cat", "dog", "outdoors"], "budget": "100"},
        ["cat", "outdoors"],
        [{"labels": ["cat", "outdoors"]}, {"labels": ["cat"]}],
    ),
    "labels in order": Kind(
        {
            "name": "stars",
            "answer": {"kind": "ordinal", "label": "median"},
            "labels": ["bad", "fair", "good", "excellent"],
            "budget": "100",
        },
        "fair",
        [{"label": "good"}, {"label": "excellent"}],
    ),
    "a number": Kind(
        {
            "name": "ages",
            "answer": {"kind": "number", "low": 0, "high": 100},
            "requirement": {"kind": "precision", "half_width": 5, "confidence": 0.9},
            "budget": "100",
        },
        42,
        [{"value": 37.5}, {"value": 40}],
    ),
}


def stops_of(kind: Kind) -> tuple[Stop, ...]:
    items = [ITEMS[0], ITEMS[1] | {"gold": kind.gold}]
    answers = [{"item": "i1", "worker": f"w{n}"} | said for n, said in enumerate(kind.answers, start=1)]
    return (
        Stop("create_job", "POST", "/v1/jobs", kind.job),
        Stop("add_items", "POST", f"{JOB_PATH}/items", items),
        *(Stop("send_answers", "POST", f"{JOB_PATH}/answers", answer) for answer in answers),
        Stop("get_item", "GET", f"{JOB_PATH}/items/{{key}}", None, {"key": "i1"}),
        Stop("list_results", "GET", f"{JOB_PATH}/results"),
        Stop("list_answers", "GET", f"{JOB_PATH}/answers"),
    )


async def visited(client: httpx.AsyncClient) -> AsyncIterator[tuple[str | None, Stop, httpx.Response]]:
    """Send every request of the tour, in order, to a job of its own; then those about other kinds of answers."""
    job = "none-yet"
    for stop in (*TOUR, *AUDITED, TIERS, END):
        if stop is AUDIT:
            job = await _resolved_job(client)
        if stop is TIERS:  # the default worker model has no tiers
            tiers = {"labels": ["cat", "dog"], "budget": "100", "worker_model": {"kind": "tiers"}}
            job = (await client.post("/v1/jobs", json=tiers)).json()["id"]
        response = await _sent(client, stop, job)
        if stop.operation == "create_job":
            job = response.json()["id"]
        yield None, stop, response
    for name, kind in KINDS.items():
        for stop in stops_of(kind):
            response = await _sent(client, stop, job)
            if stop.operation == "create_job":
                job = response.json()["id"]
            yield name, stop, response


async def _sent(client: httpx.AsyncClient, stop: Stop, job: str) -> httpx.Response:
    return await client.request(
        stop.method,
        stop.path.format(job=job, **(stop.parameters or {})),
        content=None if stop.request is None else json.dumps(stop.request),
        headers={} if stop.request is None else {"Content-Type": "application/json"},
    )


async def _resolved_job(client: httpx.AsyncClient) -> str:
    """A job whose items all have a label, which an audit needs."""
    body = {"labels": ["cat", "dog"], "budget": "100", "requirement": {"kind": "count", "labels": 1}, "min_labels": 1}
    job: str = (await client.post("/v1/jobs", json=body)).json()["id"]
    await client.post(f"/v1/jobs/{job}/items", json=ITEMS)
    for item in ITEMS:
        await client.post(f"/v1/jobs/{job}/answers", json={"item": item["key"], "worker": "w1", "label": "cat"})
    return job


def example(stop: Stop, response: httpx.Response, job: str) -> dict[str, Any]:
    """What the document says of the operation: made shorter, and the same in every run."""
    found: dict[str, Any] = {}
    if stop.parameters:
        found["path"] = stop.parameters
    if stop.request is not None:
        found["request"] = stop.request
    if response.content:
        found["response"] = shorter(json.loads(response.text.replace(job, JOB)))
    return found


def shorter(value: Any) -> Any:
    if isinstance(value, list):
        return [shorter(one) for one in value[:MOST_ENTRIES]]
    if isinstance(value, dict):
        return {name: shorter(one) for name, one in value.items()}
    return round(value, 4) if isinstance(value, float) else value


def shape(value: Any) -> Any:
    """The names of all fields, without their values."""
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    return None
