"""Compare database drivers: the same small transaction with asyncpg and with psycopg, in one run."""

import asyncio
import tempfile
import time
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app.store.embedded import embedded_postgres

CLIENTS, TURNS, ROUNDS = 8, 250, 3

PREPARE = (
    "DROP TABLE IF EXISTS bench_job, bench_item",
    "CREATE TABLE bench_job (id int PRIMARY KEY, spent numeric, answers int)",
    "CREATE TABLE bench_item (job int, id int, votes int[], payload jsonb, PRIMARY KEY (job, id))",
    "INSERT INTO bench_job SELECT n, 0, 0 FROM generate_series(1, 8) n",
    "INSERT INTO bench_item SELECT j, n, '{0,0}', '{}' FROM generate_series(1, 8) j, generate_series(1, 1000) n",
)
LOCK = text("SELECT * FROM bench_job WHERE id = :job FOR NO KEY UPDATE")
LOAD = text("SELECT id, votes, payload FROM bench_item WHERE job = :job AND id = ANY(:items)")
SAVE = text("UPDATE bench_item SET votes = :votes WHERE job = :job AND id = :item")
PAY = text("UPDATE bench_job SET answers = answers + 1, spent = spent + 1 WHERE id = :job")


async def client(engine: AsyncEngine, job: int) -> None:
    for turn in range(TURNS):
        item = turn % 1000 + 1
        async with engine.begin() as connection:
            await connection.execute(LOCK, {"job": job})
            await connection.execute(LOAD, {"job": job, "items": [item, turn % 7 + 1]})
            await connection.execute(SAVE, {"job": job, "item": item, "votes": [1, turn]})
            await connection.execute(PAY, {"job": job})


async def transactions_per_second(url: str, driver: str) -> float:
    engine = create_async_engine(make_url(url).set(drivername=f"postgresql+{driver}"), pool_size=CLIENTS)
    async with engine.begin() as connection:
        for statement in PREPARE:
            await connection.execute(text(statement))
    started = time.perf_counter()
    await asyncio.gather(*(client(engine, job) for job in range(1, CLIENTS + 1)))
    elapsed = time.perf_counter() - started
    await engine.dispose()
    return CLIENTS * TURNS / elapsed


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, embedded_postgres(Path(folder)) as url:
        ratios = []
        for _ in range(ROUNDS):
            ours = asyncio.run(transactions_per_second(url, "asyncpg"))
            theirs = asyncio.run(transactions_per_second(url, "psycopg"))
            ratios.append(ours / theirs)
            print(f"asyncpg {ours:6.0f}/s   psycopg {theirs:6.0f}/s   ratio {ours / theirs:.2f}")
        print(f"asyncpg does {sorted(ratios)[ROUNDS // 2]:.2f} times the transactions of psycopg (median of {ROUNDS})")


main()
