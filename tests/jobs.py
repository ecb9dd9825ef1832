"""Jobs over HTTP: the configurations that tests share, and a client with short names for what tests do most."""

import httpx

PLAIN_VOTES = {
    "requirement": {"kind": "ratio"},
    "worker_model": {"kind": "anonymous"},
    "aggregation": {"kind": "majority"},
}
# A job of each kind of answers, as far as it differs from one whose answers are one label.
KINDS: dict[str, dict] = {
    "choice": {},
    "choices": {"answer": {"kind": "choices"}},
    "ordinal": {"answer": {"kind": "ordinal"}},
    "number": {
        "answer": {"kind": "number", "low": 0, "high": 100},
        "labels": [],
        "requirement": {"kind": "precision", "half_width": 8},
        "worker_model": {"kind": "number"},
        "aggregation": {"kind": "model"},
    },
}
# What an answer of each kind says, by a number.
ANSWERS = {
    "choice": lambda number: {"label": ("dog", "cat")[number % 2]},
    "choices": lambda number: {"labels": (["cat"], ["dog", "cat"], [])[number % 3]},
    "ordinal": lambda number: {"label": ("dog", "cat")[number % 2]},
    "number": lambda number: {"value": 9.5 * (number % 10)},
}
LEARNING = {"requirement": {"kind": "posterior"}, "worker_model": {"kind": "auto"}, "aggregation": {"kind": "model"}}


class JobClient:
    """One job over HTTP, with the shortest words for what tests do most."""

    def __init__(self, http: httpx.AsyncClient, job: dict) -> None:
        self.http = http
        self.id = job["id"]
        self.path = f"/v1/jobs/{self.id}"

    async def next(self, worker: str | None = None, count: int = 1) -> dict:
        body = {"count": count} | ({"worker": worker} if worker else {})
        response = await self.http.post(f"{self.path}/next", json=body)
        assert response.status_code == 200, response.text
        return response.json()

    async def answer(self, item: str, worker: str, label: str) -> httpx.Response:
        return await self.say(item, worker, label=label)

    async def say(self, item: str, worker: str, **said: object) -> httpx.Response:
        return await self.http.post(f"{self.path}/answers", json={"item": item, "worker": worker} | said)

    async def status(self) -> dict:
        return (await self.http.get(self.path)).json()

    async def results(self, **query: object) -> list[dict]:
        response = await self.http.get(f"{self.path}/results", params=query)
        assert response.status_code == 200, response.text
        return response.json()["results"]
