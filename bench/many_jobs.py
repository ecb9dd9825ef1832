"""Compare a new job in a database of many jobs with the same job in an empty database.

Statistics of Postgres list the jobs that exist when they are taken. A job that is newer is expected to have next to no
rows, so a statement whose plan hangs on that estimate collapses once there are many jobs. Both databases are on one
server, and the rounds take turns.
"""

import argparse
import asyncio
import json
import random
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import asyncpg
import httpx
from harness.load import Measured, drive, request
from harness.serving import Server, the_service
from sqlalchemy.engine import make_url

from app.store.connection import migrate
from app.store.embedded import embedded_postgres

CONNECTIONS = 16
ITEMS = 1500
WORKERS = 60
BULK = 500  # answers of a request
COPY_TABLES = ("job", "item", "worker", "assignment", "answer")  # children after their parents


@dataclass
class NewJob:
    """A default job that goes through its life: work is asked for, answered one by one, and sent in bulk."""

    name: str
    service: Server
    chance: random.Random
    job: str = ""
    rounds: dict[str, list[Measured]] = field(default_factory=dict)

    def round(self) -> None:
        self.job = new_job(self.service, ITEMS)
        path = f"/v1/jobs/{self.job}"
        for half in range(2):  # an early and a late part of the job
            names = [f"w{self.chance.randrange(WORKERS)}" for _ in range(600)]
            asked = self._drive("/next", f"{path}/next", [{"worker": name, "count": 3} for name in names])
            held = {one["id"]: one for body in asked.bodies for one in json.loads(body)["assignments"]}
            self._drive("/answers", f"{path}/answers", [self._answer(one) for one in held])
            bulk = [answers_of(self.chance, range(BULK), f"b{half}-{n}") for n in range(3)]
            self._drive("/answers in bulk", f"{path}/answers", [{"answers": each} for each in bulk])

    def _answer(self, assignment: str) -> dict:
        return {"assignment": assignment, "label": self.chance.choice(["cat", "cat", "cat", "dog"])}

    def _drive(self, name: str, path: str, bodies: list[dict]) -> Measured:
        done = drive(
            self.service.port,
            [request(self.service.port, path, json.dumps(body).encode()) for body in bodies],
            CONNECTIONS,
        )
        self.rounds.setdefault(name, []).append(done)
        return done


def new_job(service: Server, items: int) -> str:
    with httpx.Client(base_url=service.url, timeout=600, trust_env=False) as client:
        job: str = client.post("/v1/jobs", json={"labels": ["cat", "dog"], "budget": None}).json()["id"]
        lines = "\n".join(json.dumps({"key": f"i{n}"}) for n in range(items))
        kind = {"Content-Type": "application/x-ndjson"}
        client.post(f"/v1/jobs/{job}/items", content=lines, headers=kind).raise_for_status()
    return job


def answers_of(chance: random.Random, items: range, crowd: str) -> list[dict]:
    """One answer to each item, by workers of this crowd."""
    return [
        {"item": f"i{n}", "worker": f"{crowd}-{n % WORKERS}", "label": chance.choice(["cat", "cat", "cat", "dog"])}
        for n in items
    ]


def first_job(service: Server, answers: int) -> str:
    """A job with so many answers, of which the others are copies."""
    chance, each = random.Random(1), 3  # noqa: S311  a crowd
    job = new_job(service, answers // each)
    with httpx.Client(base_url=service.url, timeout=600, trust_env=False) as client:
        for crowd in range(each):
            said = answers_of(chance, range(answers // each), f"c{crowd}")
            for start in range(0, len(said), 1000):
                client.post(f"/v1/jobs/{job}/answers", json={"answers": said[start : start + 1000]}).raise_for_status()
    return job


async def copy_job(url: str, job: str, times: int) -> int:
    """Copy all rows of a job under new ids; returns how many answers there are then."""
    connection = await asyncpg.connect(url)
    for _ in range(times):
        new = await connection.fetchval("SELECT gen_random_uuid()")
        for table in COPY_TABLES:
            columns = [
                row["column_name"]
                for row in await connection.fetch(
                    "SELECT column_name FROM information_schema.columns WHERE table_name = $1 "
                    "AND column_name <> 'job_id' AND is_generated = 'NEVER'",
                    table,
                )
            ]
            names = ", ".join(f'"{name}"' for name in columns)
            await connection.execute(
                f"INSERT INTO {table} (job_id, {names}) SELECT $2::uuid, {names} FROM {table} WHERE job_id = $1::uuid",
                job,
                new,
            )
    await connection.execute("ANALYZE")
    answers = await connection.fetchval("SELECT count(*) FROM answer")
    await connection.close()
    return int(answers)


async def create_database(url: str, name: str) -> str:
    connection = await asyncpg.connect(url)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    return make_url(url).set(database=name).render_as_string(hide_password=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--answers", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(embedded_postgres(folder / "data"))
        works = {}
        for name in ("few_jobs", "many_jobs"):
            url = asyncio.run(create_database(server, name))
            migrate(url)
            service = stack.enter_context(the_service(url, folder))
            works[name] = NewJob(name, service, random.Random(2))  # noqa: S311  a crowd
            if name == "many_jobs":
                job = first_job(service, chosen.answers // chosen.jobs)
                found = asyncio.run(copy_job(url, job, chosen.jobs - 1))
                print(f"{chosen.jobs} jobs with {found:,} answers", flush=True)
        for number in range(chosen.rounds + 1):
            for work in works.values():
                work.round()
            if not number:  # to warm up
                for work in works.values():
                    work.rounds.clear()
    for name, measured in works["many_jobs"].rounds.items():
        pairs = list(zip(measured, works["few_jobs"].rounds[name], strict=True))
        print(
            f"{name:17} {median(one.rate for one, _ in pairs):6.0f}/s beside many jobs, "
            f"{median(one.rate for _, one in pairs):6.0f}/s in an empty database: "
            f"ratio {median(one.rate / other.rate for one, other in pairs):.2f}, "
            f"lowest {min(one.rate / other.rate for one, other in pairs):.2f}"
        )


main()
