"""The service responds to any request as its OpenAPI document says.

Schemathesis makes the requests from the document: its examples, its limits and what lies just beyond them, and chance.
Three of its checks hold for some operations only, see SHADOWED, LENIENT and EXACT. Left out are those about
authentication, which the service does not have, and those that follow a resource through several requests, which other
tests do.
SUFFICE_EXAMPLES=30 looks as deep as CI, and 300 ten times deeper.
"""

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterator
from zlib import crc32

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from app.main import create_app
from app.settings import Settings

EXAMPLES = int(os.environ.get("SUFFICE_EXAMPLES", "8"))  # by chance, for each operation, beside those of the document
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# A worker's name may have slashes: to GET such an address is to read the worker that is called "ann/block".
SHADOWED = {f"POST /v1/jobs/{{job}}/workers/{{worker}}/{verb}" for verb in ("price", "tier", "block", "unblock")}
# These take more than they say: "3" and true for a number, and null for a body that may be left out.
LENIENT = {
    "POST /v1/jobs",
    "PATCH /v1/jobs/{job}",
    "POST /v1/plans/forecast",
    "POST /v1/jobs/{job}/items",
    "POST /v1/jobs/{job}/next",
    "POST /v1/jobs/{job}/audits",
    "POST /v1/jobs/{job}/assignments/{assignment}/extend",
    "POST /v1/jobs/{job}/workers/{worker}/block",
    "POST /v1/plans/requirement",
    "POST /v1/plans/split",
    "POST /v1/plans/accuracy-cost",
    "POST /v1/plans/fitness",
}
# These take all that they say. The others also refuse what no schema tells: cursors that no page gave, labels that the
# job does not have, amounts with a seventh decimal, limits that contradict each other, `worker` beside `workers`.
EXACT = {
    "GET /v1/jobs/{job}",
    "DELETE /v1/jobs/{job}",
    "POST /v1/jobs/{job}/pause",
    "POST /v1/jobs/{job}/resume",
    "GET /v1/jobs/{job}/items/{key}",
    "GET /v1/jobs/{job}/workers/{worker}",
    "POST /v1/jobs/{job}/workers/{worker}/block",
    "POST /v1/jobs/{job}/workers/{worker}/unblock",
    "POST /v1/jobs/{job}/assignments/{assignment}/extend",
    "POST /v1/jobs/{job}/assignments/{assignment}/release",
    "POST /v1/jobs/{job}/assignments/{assignment}/skip",
    "GET /v1/catalog",
    "GET /healthz",
    "GET /readyz",
}
# Nested requirements and plans can be wrong in thousands of ways. Only a deep run goes through them; else chance picks.
# `POST /v1/plans/requirement` has hundreds: CI goes through them.
SPRAWLING = [
    "POST /v1/jobs",
    "PATCH /v1/jobs/{job}",
    "POST /v1/plans/accuracy-cost",
    "POST /v1/plans/fitness",
    "POST /v1/plans/forecast",
]
LABELS = ["cat", "dog", "="]
KEYS = [f"i{number}" for number in range(1, 25)]
AUDITED = KEYS[-8:]  # their labels are known from the start of a world
WORKERS = ["w1", "w2", "w3"]
FORMS = ["application/json", "application/x-ndjson", "text/csv", "application/vnd.apache.parquet", "*/*", "image/png"]
# Of these fields of a plan most values are out of reach, or contradict the other fields: they mostly stay out.
CONTRARY = {
    "/v1/plans/accuracy-cost": {"prior", "at", "budget", "items", "max_cost", "min_accuracy"},
    "/v1/plans/fitness": {"prior"},
    "/v1/plans/forecast": {"answer"},
}
PLAN_FORMS = ["application/json", "image/svg+xml", "*/*", "image/png"]


document = create_app(Settings(database_url="postgresql://nowhere")).openapi()
api = schemathesis.openapi.from_dict(
    document,
    config=SchemathesisConfig.from_dict(
        {
            "seed": 20160222,
            "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", 404, 409]}},
            "operations": [
                {"include-name": SPRAWLING, "phases": {"coverage": {"enabled": EXAMPLES >= 300}}},
                {"include-name": "POST /v1/plans/requirement", "phases": {"coverage": {"enabled": EXAMPLES >= 30}}},
            ],
        }
    ),
)


def words(names: list[str]) -> st.SearchStrategy[str]:
    """Mostly what is there, sometimes anything."""
    return st.integers(0, 9).flatmap(lambda luck: st.sampled_from(names) if luck else st.text(max_size=5))


ITEMS = st.lists(
    st.fixed_dictionaries(
        {"key": words([*KEYS, *map(str, range(200))])},
        optional={
            "payload": words(["plain"]) | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
            "cost": st.decimals("0.000001", 1000, places=6).map(str) | words(["1"]),
            "gold": words(LABELS),
            "prior": st.just({"cat": 0.5, "dog": 0.5}) | st.dictionaries(words(LABELS), st.floats(0, 1), max_size=3),
            "features": st.just([3, 4]) | st.lists(st.floats(), max_size=2),
        },
    ),
    min_size=1,
    max_size=3,
)


def as_lines(items: list[dict]) -> bytes:
    return "".join(json.dumps(item) + "\n" for item in items).encode()


def as_table(items: list[dict]) -> bytes:
    table = io.StringIO()
    writer = csv.DictWriter(table, sorted({name for item in items for name in item}))
    writer.writeheader()
    for item in items:
        writer.writerow({name: one if isinstance(one, str) else json.dumps(one) for name, one in item.items()})
    return table.getvalue().encode(errors="replace")


for media_type, written in (("application/x-ndjson", as_lines), ("text/csv", as_table)):
    schemathesis.openapi.media_type(media_type, ITEMS.map(written) | ITEMS.map(written) | st.binary(max_size=40))


class World:
    """A job in the middle of its life, whose names take the place of most that are made up."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http
        self.operation: APIOperation | None = None
        self.used = True  # a case has ended what the next one needs
        self.met: Counter[int] = Counter()  # status codes
        self.heard: set[str] = set()  # content types of successful responses
        self.renew()

    def renew(self, *, audit_runs: bool = True) -> None:
        """Begin a new job. Its first audit has proved its claim; the second one runs."""
        policy = {"labels": LABELS, "min_labels": 2, "worker_model": {"kind": "tiers"}}
        policy |= {"requirement": {"kind": "count", "labels": 2}, "features": {"kind": "logistic"}}
        self.job = self._post("/v1/jobs", policy | {"budget": None})["id"]
        path = f"/v1/jobs/{self.job}"
        self._post(f"{path}/items", [{"key": key, "payload": {"n": key}, "features": [1, 2]} for key in KEYS])
        self._post(f"{path}/workers", [{"worker": worker, "price": "0.5"} for worker in WORKERS])
        answers = [{"item": key, "worker": worker, "label": "cat"} for key in AUDITED for worker in ("w2", "w3")]
        self._post(f"{path}/answers", {"answers": answers})
        self._post(f"{path}/audits", {"min_accuracy": 0.5})
        self._post(f"{path}/audits/1/answers", [{"item": key, "label": "cat"} for key in AUDITED])
        if audit_runs:
            self._post(f"{path}/audits", {"min_accuracy": 0.5})
        held = self._post(f"{path}/next", {"worker": "w1", "count": 6})["assignments"]
        for lease in held[:2]:
            self._post(f"{path}/answers", {"assignment": lease["id"], "label": "cat"})
        self._post(f"{path}/assignments/{held[2]['id']}/release", None)
        watched = self._post(f"{path}/refit", None)["id"]
        self.known = {
            "operation": [watched],
            "audit": ["2" if audit_runs else "1"],
            "job": [self.job],
            "item": KEYS,
            "worker": WORKERS,
            "tier": ["average", "good", "bad"],
            "label": LABELS,
            "gold": LABELS,
            "prior": [{"cat": 0.7, "dog": 0.2, "=": 0.1}],
            "features": [[1, 2], [0.5, -1e6]],
            "assignment": [lease["id"] for lease in held],
            "cursor": [self.http.get(f"{path}/items", params={"limit": 3}).json()["next_cursor"]],
            "min_labels": [1, 2],  # these must leave room for each other
            "max_labels": [100],
            "max_votes_per_label": [100],
        }

    def _post(self, path: str, body: object) -> dict:
        response = self.http.post(path, json=body)
        assert response.is_success, response.text
        return response.json()

    def _assignment(self) -> list[dict]:
        return self._post(f"/v1/jobs/{self.job}/next", {})["assignments"]

    def prepare(self, case: schemathesis.Case) -> None:
        """Create what the case may end, again after each case that succeeded."""
        begins_audit = case.path.endswith("/audits") and case.method == "POST"
        if self.used and (case.method == "DELETE" or begins_audit or case.path.endswith("{audit}/answers")):
            self.renew(audit_runs=not begins_audit)
            self.known["item"] = AUDITED
            self.used = False
        if case.method == "DELETE" and case.path.endswith("/items/{key}"):  # only items without answers can be deleted
            self._post(f"/v1/jobs/{self.job}/items", [{"key": "untouched"}])
            self.known["item"] = ["untouched"]
        if "assignment" in case.path_parameters:
            if not (held := self._assignment()):  # all is out
                self.renew()
                held = self._assignment()
            self.known["assignment"] = [held[0]["id"], held[0]["id"], "1"]

    def make_real(self, case: schemathesis.Case) -> None:
        """By the case alone, not by chance: a case that failed must fail again."""
        salt = crc32(repr((case.path_parameters, case.query, case.body)).encode())
        case.path_parameters = self._real(case.path_parameters, "", salt)
        if "key" in case.path_parameters:
            case.path_parameters["key"] = self._real(case.path_parameters["key"], "item", salt)
        case.query = self._real(case.query, "", salt)
        if case.path in CONTRARY and isinstance(case.body, dict) and salt % 4:
            case.body = {name: one for name, one in case.body.items() if name not in CONTRARY[case.path]}
        elif not case.path.startswith("/v1/plans/"):  # whose priors are others, and which name nothing that is there
            case.body = self._real(case.body, "", salt)
        if _is_printable(case.headers.get("Idempotency-Key")) and salt % 8:  # else most requests conflict
            case.headers = {name: one for name, one in case.headers.items() if name != "Idempotency-Key"}
        if case.path.endswith("/results") or (case.method == "GET" and case.path.endswith("/answers")):
            case.headers = {**case.headers, "Accept": FORMS[salt % len(FORMS)]}
        if case.path.startswith("/v1/plans/"):
            case.headers = {**case.headers, "Accept": PLAN_FORMS[salt % len(PLAN_FORMS)]}

    def _real(self, value, name: str, salt: int):
        known = self.known.get(name, ())
        if known and type(value) is type(known[0]):
            choice = crc32(f"{name} {value!r}".encode(), salt)
            return value if choice % 16 == 0 else known[choice // 16 % len(known)]
        if isinstance(value, list):
            return [self._real(one, name, salt) for one in value]
        if isinstance(value, dict):
            real = {inner: self._real(one, inner, salt) for inner, one in value.items()}
            return self._of_one_mind(real) if salt % 8 else real
        return value

    def _of_one_mind(self, body: dict) -> dict:
        """An answer under an assignment need not say whose it is, and had better not say another's."""
        if body.get("assignment") in self.known["assignment"]:
            return {name: one for name, one in body.items() if name not in {"item", "worker"}}
        return body

    def remember(self, case: schemathesis.Case, response: schemathesis.Response) -> None:
        self.operation = case.operation
        self.met[response.status_code] += 1
        self.used |= response.status_code < 300
        if response.status_code < 300:
            received = response.headers.get("content-type", [""])[0]
            self.heard.add(received.partition(";")[0])

    def unheard(self) -> list[str]:
        """The forms of an answer of which none has come yet."""
        responses = self._definition()["responses"]
        forms = (form for status, told in responses.items() if status[0] == "2" for form in told.get("content", ()))
        return [form for form in forms if form not in self.heard]

    def _definition(self) -> dict:
        assert self.operation is not None
        return document["paths"][self.operation.path][self.operation.method]

    def assert_worth_the_time(self) -> None:
        """Half as many requests succeed as miss what they name, or more, and each form of a response is received."""
        assert not self.unheard(), self.met
        assert 2 * sum(times for status, times in self.met.items() if status < 300) >= self.met[404], self.met


def _is_printable(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable()


def checks_of(operation: str) -> list:
    rejects = [] if operation in LENIENT else [negative_data_rejection]
    accepts = [positive_data_acceptance] if operation in EXACT else []
    methods = [] if operation in SHADOWED else [unsupported_method]
    return [*CHECKS, *methods, *rejects, *accepts]


@pytest.fixture
def world(served: str) -> Iterator[World]:
    with httpx.Client(base_url=served, timeout=60) as http:
        world = World(http)
        yield world
    world.assert_worth_the_time()


def test_the_named_operations_exist():
    """A typing error in a name would silently change the checks."""
    operations = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert LENIENT | EXACT | SHADOWED | set(SPRAWLING) <= operations


def test_the_example_of_each_form_of_a_body_succeeds(served):
    """Chance seldom makes items that are new, valid and in a given form."""
    with httpx.Client(base_url=served, timeout=60) as http:
        job = http.post("/v1/jobs", json={"labels": LABELS, "budget": None}).json()["id"]
        forms = document["paths"]["/v1/jobs/{job}/items"]["post"]["requestBody"]["content"]
        assert len(forms) == 3
        for form, described in forms.items():
            example = described["example"] if "example" in described else described["examples"]["one label"]["value"]
            body = example if isinstance(example, str) else json.dumps(example)
            sent = http.post(f"/v1/jobs/{job}/items", content=body, headers={"Content-Type": form})
            assert sent.is_success, sent.text


@api.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    # A world serves all cases of an operation, and what is not plain takes long to make.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_answers_are_as_documented(case, world, served):
    world.prepare(case)
    world.make_real(case)
    response = answered(case, world, served)
    for form in world.unheard() if response.status_code < 300 else []:  # what succeeded does so in every form
        case.headers = {**case.headers, "Accept": form}
        answered(case, world, served)


def answered(case: schemathesis.Case, world: World, served: str) -> schemathesis.Response:
    response = case.call(base_url=served, timeout=240)  # a chart or a large forecast takes long on a busy machine
    world.remember(case, response)
    case.validate_response(response, checks=checks_of(case.operation.label))
    return response
