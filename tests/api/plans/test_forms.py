"""A response that depends on the Accept header says so, and no other response does."""

import pytest

PLANS = ["accuracy-cost", "fitness", "forecast", "requirement", "split"]
NO_PLAN = {"no-such-field": 1}


@pytest.mark.parametrize("plan", PLANS)
async def test_a_plan_that_is_refused_hangs_on_accept_unless_its_path_names_the_form(client, plan):
    statuses = []
    for accept in ("application/json", "image/svg+xml", "text/html"):
        response = await client.post(f"/v1/plans/{plan}", json=NO_PLAN, headers={"Accept": accept})
        statuses.append(response.status_code)
        assert response.headers.get_list("Vary") == ["Accept"], accept
        picture = await client.post(f"/v1/plans/{plan}.svg", json=NO_PLAN, headers={"Accept": accept})
        assert (picture.status_code, "Vary" in picture.headers) == (422, False), accept
    assert statuses == [422, 422, 406]


@pytest.mark.parametrize("accept", ["application/json", "image/svg+xml"])
async def test_a_plan_hangs_on_accept_unless_its_path_names_the_form(client, accept):
    plan = {"value": "20", "loss": "100"}
    response = await client.post("/v1/plans/fitness", json=plan, headers={"Accept": accept})
    assert (response.status_code, response.headers["Content-Type"]) == (200, accept)
    assert response.headers.get_list("Vary") == ["Accept"]
    picture = await client.post("/v1/plans/fitness.svg", json=plan, headers={"Accept": accept})
    assert (picture.status_code, picture.headers["Content-Type"]) == (200, "image/svg+xml")
    assert "Vary" not in picture.headers


@pytest.mark.parametrize("path", ["results", "answers"])
async def test_pages_and_tables_hang_on_accept_also_where_they_are_refused(new_job, path):
    job = await new_job(items=1)
    seen = {}
    for accept in ("application/json", "text/csv", "text/html"):
        for query in ("", "?cursor=none"):
            response = await job.http.get(f"{job.path}/{path}{query}", headers={"Accept": accept})
            assert response.headers.get_list("Vary") == ["Accept"], (accept, query)
            seen[accept, query] = response.status_code
    assert seen["application/json", ""] == seen["text/csv", ""] == 200
    assert seen["application/json", "?cursor=none"] == 422
    assert seen["text/html", ""] == 406
    unknown = await job.http.get(f"/v1/jobs/none/{path}")
    assert (unknown.status_code, unknown.headers.get_list("Vary")) == (404, ["Accept"])
